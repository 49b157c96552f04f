#include "flashc/Jit/ShapeClass.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace flashc;

int64_t jit::lengthClass(int64_t length) {
  constexpr int64_t kUnknown = 4096, kLeast = 512, kMost = 65536;
  if (length <= 0)
    return kUnknown;
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(std::min(length, kMost)),
                             kLeast, kMost);
}

int64_t jit::alignmentClass(uint64_t bytes) {
  for (int64_t alignment : {16, 8, 4})
    if (bytes % alignment == 0)
      return alignment;
  return 2;
}
