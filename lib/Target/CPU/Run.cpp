// Running a CPU kernel: the checks, the memref descriptors, and threads that
// take one (batch, head, block) after the other until none is left.
#include "flashc/Target/CPU.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <thread>

using namespace llvm;

namespace flashc {

static constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

static SmallVector<int64_t, 4> contiguousStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 4> strides(sizes.size(), 1);
  for (int64_t i = int64_t(sizes.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

static bool matches(ArrayRef<int64_t> have, ArrayRef<int64_t> wanted) {
  return llvm::all_of(llvm::zip_equal(have, wanted), [](auto pair) {
    auto [is, should] = pair;
    return should == kDynamic || is == should;
  });
}

Error CpuKernel::checkOne(size_t number, const CpuArgument &argument) const {
  const Parameter &parameter = parameters[number];
  auto fail = [&](std::string what) {
    return createStringError(
        fmt::format("kernel '{}': argument {} is a {}, but {}", kernelName,
                    number, parameter.type, what));
  };
  if (argument.sizes.size() != parameter.shape.size())
    return fail(fmt::format("the array has rank {}; pass rank {}",
                            argument.sizes.size(), parameter.shape.size()));
  if (!matches(argument.sizes, parameter.shape) ||
      llvm::any_of(argument.sizes, [](int64_t size) { return size < 0; }))
    return fail(fmt::format(
        "the array has sizes {}; pass one that agrees in the fixed ones",
        fmt::join(argument.sizes, "x")));
  if (argument.strides.empty()) {
    if (!matches(contiguousStrides(argument.sizes),
                 parameter.contiguous ? contiguousStrides(argument.sizes)
                                      : parameter.strides))
      return fail("a contiguous array has other strides; pass strides");
    return Error::success();
  }
  if (argument.strides.size() != argument.sizes.size())
    return fail(fmt::format(
        "there are {} strides for rank {}; pass one for each dimension",
        argument.strides.size(), argument.sizes.size()));
  if (!matches(argument.strides, parameter.contiguous
                                     ? contiguousStrides(argument.sizes)
                                     : parameter.strides))
    return fail(
        fmt::format("the array has strides {}; copy it to that form first",
                    fmt::join(argument.strides, ", ")));
  return Error::success();
}

Error CpuKernel::check(ArrayRef<CpuArgument> arguments) const {
  if (arguments.size() != parameters.size())
    return createStringError(
        fmt::format("kernel '{}' takes {} arguments, but there are {}; pass "
                    "those of its tile.kernel in order",
                    kernelName, parameters.size(), arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (Error error = checkOne(i, arguments[i]))
      return error;
  return Error::success();
}

/// A memref descriptor as MLIR lays it out: allocated and aligned pointer,
/// offset, sizes, strides.
static std::vector<int64_t> descriptorOf(const CpuArgument &argument) {
  auto address = int64_t(reinterpret_cast<intptr_t>(argument.data));
  std::vector<int64_t> words{address, address, 0};
  words.insert(words.end(), argument.sizes.begin(), argument.sizes.end());
  auto strides = argument.strides.empty() ? contiguousStrides(argument.sizes)
                                          : argument.strides;
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

CpuKernel::Extent CpuKernel::extentFor(ArrayRef<CpuArgument> arguments) const {
  auto size = [&](Place place) -> int64_t {
    return place.argument < 0 ? 1 : arguments[place.argument].sizes[place.dim];
  };
  return {size(batchPlace), size(headsPlace),
          int64_t(divideCeil(size(blocksPlace), rows))};
}

void CpuKernel::work(ArrayRef<std::vector<int64_t>> descriptors, Extent extent,
                     std::atomic<int64_t> &next) const {
  constexpr size_t kAlignment = 64; // a cache line, and the widest vector
  std::unique_ptr<char[]> memory(new char[scratch + kAlignment]);
  CpuArgument area;
  area.data = reinterpret_cast<void *>(
      alignTo(reinterpret_cast<uintptr_t>(memory.get()), kAlignment));
  area.sizes = {scratch};
  std::vector<int64_t> scratchDescriptor = descriptorOf(area);
  SmallVector<void *> pointers{scratchDescriptor.data()};
  for (const std::vector<int64_t> &descriptor : descriptors)
    pointers.push_back(const_cast<int64_t *>(descriptor.data()));
  int64_t chunk = inOrder ? extent.blocks : 1; // programs that stay together
  int64_t total = extent.batches * extent.heads * extent.blocks;
  for (int64_t at = next++ * chunk; at < total; at = next++ * chunk)
    for (int64_t n = at; n < at + chunk; ++n)
      entry(n / extent.blocks / extent.heads, n / extent.blocks % extent.heads,
            n % extent.blocks, pointers.data());
}

Error CpuKernel::run(ArrayRef<CpuArgument> arguments, unsigned threads) const {
  if (Error error = check(arguments))
    return error;
  Extent extent = extentFor(arguments);
  int64_t chains = extent.batches * extent.heads;
  int64_t total = chains * extent.blocks;
  if (total == 0)
    return Error::success();
  std::vector<std::vector<int64_t>> descriptors;
  for (const CpuArgument &argument : arguments)
    descriptors.push_back(descriptorOf(argument));
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  int64_t parallel = oneByOne ? 1 : inOrder ? chains : total;
  threads = unsigned(std::min<int64_t>(threads, parallel));
  std::atomic<int64_t> next{0};
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back([&] { work(descriptors, extent, next); });
  work(descriptors, extent, next);
  for (std::thread &thread : others)
    thread.join();
  return Error::success();
}

} // namespace flashc
