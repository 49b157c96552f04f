// Small runs for the fuzzer: the generated code must not trap either.
#include "fuzz/RunKernel.h"

using namespace flashc;
using namespace flashc::fuzz;

static constexpr int64_t kLargest = 1 << 16; // elements of one array

/// Sizes of one parameter, dynamic ones filled in.
static llvm::SmallVector<int64_t, 4> sizesOf(const KernelParam &param,
                                             int64_t batch, int64_t heads) {
  llvm::SmallVector<int64_t, 4> sizes(param.shape);
  bool isKey = param.kind == ParamKind::Key || param.kind == ParamKind::Value;
  const int64_t open[] = {batch, heads, isKey ? 21 : 3, 1};
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size == KernelParam::kDynamic)
      size = param.kind == ParamKind::Capture ? 2 : open[dim];
  return sizes;
}

/// The static size of dimension `dim` in any of Q, K, V and O, or 2.
static int64_t commonSize(const Manifest &manifest, size_t dim) {
  for (const KernelParam &param : manifest.params)
    if (param.rank() == 4 && !param.strides.empty() &&
        param.shape[dim] != KernelParam::kDynamic)
      return param.shape[dim];
  return 2;
}

llvm::Error fuzz::runSmall(const CpuKernel &kernel, const Manifest &manifest) {
  int64_t batch = commonSize(manifest, 0), heads = commonSize(manifest, 1);
  std::vector<std::vector<char>> arrays;
  std::vector<CpuArgument> arguments;
  for (const KernelParam &param : manifest.params) {
    CpuArgument argument;
    argument.sizes = sizesOf(param, batch, heads);
    int64_t count = 1;
    for (int64_t size : argument.sizes)
      if (llvm::MulOverflow(count, size, count) || count > kLargest)
        return llvm::Error::success();
    if (!param.strides.empty()) {
      argument.strides.assign(argument.sizes.size(), 1);
      for (size_t dim = argument.sizes.size() - 1; dim-- > 0;)
        argument.strides[dim] =
            argument.strides[dim + 1] * argument.sizes[dim + 1];
    }
    int64_t bytes = llvm::StringRef(param.elementType).ends_with("64")   ? 8
                    : llvm::StringRef(param.elementType).ends_with("32") ? 4
                    : llvm::StringRef(param.elementType).ends_with("16") ? 2
                                                                         : 1;
    arrays.emplace_back(count * bytes, param.kind == ParamKind::Capture);
    argument.data = arrays.back().data();
    arguments.push_back(std::move(argument));
  }
  return kernel.run(arguments, /*threads=*/1);
}
