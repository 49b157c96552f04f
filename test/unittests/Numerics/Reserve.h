// Arrays whose elements lie gigabytes apart, in memory that is reserved and
// never touched but where the elements are.
#ifndef FLASHC_TEST_UNITTESTS_NUMERICS_RESERVE_H
#define FLASHC_TEST_UNITTESTS_NUMERICS_RESERVE_H

#include "flashc/Reference/Problem.h"

#include <cstring>
#include <sys/mman.h>

namespace flashc::test {

/// Address space alone: pages appear when they are written.
class Reserve {
public:
  explicit Reserve(size_t bytes)
      : bytes(bytes),
        base(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserve() { munmap(base, bytes); }
  Reserve(const Reserve &) = delete;
  bool ok() const { return base != MAP_FAILED; }
  char *data() { return static_cast<char *>(base); }

private:
  size_t bytes;
  void *base;
};

template <typename F>
void eachRow(const std::array<int64_t, 4> &shape, F visit) {
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      for (int64_t s = 0; s < shape[2]; ++s)
        visit(b, h, s);
}

/// Copies rows between a tensor and the view of `strides` (elements) on `far`.
inline void copyRows(reference::HostTensor &near, char *far,
                     const std::array<int64_t, 4> &strides, bool toFar) {
  int64_t bytes = elementBytes(near.element);
  eachRow(near.shape, [&](int64_t b, int64_t h, int64_t s) {
    char *there =
        far + (b * strides[0] + h * strides[1] + s * strides[2]) * bytes;
    char *here = near.data() + (near.index(b, h, s, 0) - near.offset) * bytes;
    std::memcpy(toFar ? there : here, toFar ? here : there,
                near.shape[3] * bytes);
  });
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_NUMERICS_RESERVE_H
