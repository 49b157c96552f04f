//===- Arguments.cpp - Check and lay out a launch's parameters ------------===//
//
// Before a launch, without a driver: the kernel trusts what it is given, so
// everything that it relies on is checked here.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Arguments.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace flashc;

namespace {
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

int64_t bytesOf(llvm::StringRef elementType) {
  return llvm::StringSwitch<int64_t>(elementType)
      .Cases({"f16", "bf16", "i16"}, 2)
      .Cases({"f32", "i32"}, 4)
      .Cases({"f64", "i64", "index"}, 8)
      .Default(1);
}

/// One array beside its parameter.
struct Checked {
  const KernelParam &param;
  const ArrayArg &arg;
  const std::string &kernel;

  template <typename... Args>
  llvm::Error error(fmt::format_string<Args...> text, Args &&...args) const {
    return makeError("kernel '{}', array '{}': {}", kernel, param.name,
                     fmt::format(text, std::forward<Args>(args)...));
  }
  bool empty() const { return llvm::is_contained(arg.shape, 0); }
  llvm::Error sizes() const;
  llvm::Error strides() const;
  llvm::Error address(int64_t alignment) const;
};

llvm::Error Checked::sizes() const {
  if (arg.shape.size() != param.rank())
    return error("it has rank {}, but the kernel takes rank {}; pass the "
                 "array of the right shape",
                 arg.shape.size(), param.rank());
  for (auto [dim, have] : llvm::enumerate(arg.shape)) {
    if (have < 0 || have > kMaxSize)
      return error("dimension {} has size {}, but sizes are 0 to {}; split "
                   "the problem",
                   dim, have, kMaxSize);
    int64_t want = param.shape[dim];
    if (want != KernelParam::kDynamic && want != have)
      return error("dimension {} has size {}, but the kernel was compiled for "
                   "{}; compile one for this size",
                   dim, have, want);
  }
  return llvm::Error::success();
}

llvm::Error Checked::strides() const {
  if (arg.strides.empty() && param.strides.empty())
    return llvm::Error::success();
  if (arg.strides.size() != param.rank())
    return error("it has {} strides, but rank {}; give one a dimension",
                 arg.strides.size(), param.rank());
  if (empty())
    return llvm::Error::success(); // nothing is read or written through them
  int64_t dense = 1;
  for (size_t n = param.rank(); n-- > 0; dense *= arg.shape[n]) {
    int64_t have = arg.strides[n];
    if (arg.shape[n] <= 1) // never multiplied by anything but 0
      continue;
    int64_t want = param.strides.empty() ? dense : param.strides[n];
    if (want != KernelParam::kDynamic && want != have)
      return error("dimension {} has stride {}, but the kernel reads it with "
                   "stride {}; pass a contiguous copy",
                   n, have, want);
    if (param.isOutput() && have == 0)
      return error("dimension {} has size {} and stride 0, but outputs may not "
                   "overlap; pass an array of its own",
                   n, arg.shape[n]);
  }
  return llvm::Error::success();
}

llvm::Error Checked::address(int64_t alignment) const {
  if (empty())
    return llvm::Error::success();
  if (arg.pointer == 0)
    return error("it has {} elements, but its pointer is null; allocate it",
                 fmt::join(arg.shape, "x"));
  int64_t bytes = bytesOf(param.elementType);
  // Rows of Q, K, V and O move in pieces of `alignment` bytes, or of what a
  // dense row is a multiple of; the others by element.
  bool inPieces = param.rank() == 4 && !param.strides.empty();
  int64_t need =
      inPieces ? std::gcd(alignment, arg.shape.back() * bytes) : bytes;
  llvm::StringRef advice =
      inPieces ? "copy it to an aligned one, or compile with a smaller "
                 "--alignment"
               : "copy it to an aligned one";
  if (arg.pointer % need)
    return error("its address {:#x} is not a multiple of {} bytes; {}",
                 arg.pointer, need, advice.str());
  for (auto [dim, stride] : llvm::enumerate(arg.strides))
    if (arg.shape[dim] > 1 && dim + 1 < arg.strides.size() &&
        stride * bytes % need)
      return error("dimension {} has a stride of {} bytes, which is not a "
                   "multiple of {}; {}",
                   dim, stride * bytes, need, advice.str());
  return llvm::Error::success();
}

/// The shapes of all arrays together. Each array has passed its own checks.
class Together {
public:
  Together(const std::string &kernel, const Manifest &manifest,
           llvm::ArrayRef<ArrayArg> args)
      : kernel(kernel), manifest(manifest), args(args) {}

  llvm::Error check() const {
    const ArrayArg &q = of(ParamKind::Query);
    int64_t batch = q.shape[0], heads = q.shape[1], sq = q.shape[2];
    const ArrayArg *k = find(ParamKind::Key);
    if (k && k->shape.size() == 4) {
      if (k->shape[1] == 0 ? heads != 0 : heads % k->shape[1] != 0)
        return makeError("kernel '{}': {} query heads cannot share {} key "
                         "heads; make the first a multiple of the second",
                         kernel, heads, k->shape[1]);
      if (llvm::Error error = same(ParamKind::Key, 0, batch, "batch"))
        return error;
      for (auto [dim, what] :
           {std::pair(0, "batch"), {1, "heads"}, {2, "length"}})
        if (llvm::Error error =
                same(ParamKind::Value, dim, k->shape[dim], what))
          return error;
    }
    for (ParamKind kind : {ParamKind::Output, ParamKind::Lse})
      for (auto [dim, want, what] : {std::tuple(0, batch, "batch"),
                                     {1, heads, "heads"},
                                     {2, sq, "length"}})
        if (llvm::Error error = same(kind, dim, want, what))
          return error;
    return same(ParamKind::KvLengths, 0, batch, "batch");
  }

private:
  const ArrayArg *find(ParamKind kind) const {
    for (auto [param, arg] : llvm::zip(manifest.params, args))
      if (param.kind == kind)
        return &arg;
    return nullptr;
  }
  const ArrayArg &of(ParamKind kind) const { return *find(kind); }

  llvm::Error same(ParamKind kind, size_t dim, int64_t want,
                   const char *what) const {
    const ArrayArg *arg = find(kind);
    if (!arg || dim >= arg->shape.size() || arg->shape[dim] == want)
      return llvm::Error::success();
    return makeError("kernel '{}', array '{}': its {} is {}, but {} is needed "
                     "beside the other arrays; pass arrays of one problem",
                     kernel, paramKindName(kind).str(), what, arg->shape[dim],
                     want);
  }

  const std::string &kernel;
  const Manifest &manifest;
  llvm::ArrayRef<ArrayArg> args;
};

/// One pointer, the dynamic sizes as i32, the dynamic strides as i64.
void pack(const KernelParam &param, const ArrayArg &arg,
          std::vector<uint64_t> &slots) {
  slots.push_back(arg.pointer);
  for (auto [want, have] : llvm::zip(param.shape, arg.shape))
    if (want == KernelParam::kDynamic)
      slots.push_back(static_cast<uint32_t>(have));
  for (auto [want, have] : llvm::zip(param.strides, arg.strides))
    if (want == KernelParam::kDynamic)
      slots.push_back(static_cast<uint64_t>(have));
}

/// Query blocks of all heads.
llvm::Expected<uint32_t> countTiles(const std::string &kernel,
                                    const Manifest &manifest,
                                    const ArrayArg &query) {
  int64_t pairs = query.shape[0] * query.shape[1]; // below 2^62
  int64_t blocks = llvm::divideCeil(query.shape[2], manifest.qBlock), tiles = 0;
  if (llvm::MulOverflow(pairs, blocks, tiles) || tiles > kMaxSize)
    return makeError("kernel '{}': {} batches x {} heads x {} query blocks "
                     "are more than the {} blocks of a grid; split the batch",
                     kernel, query.shape[0], query.shape[1], blocks, kMaxSize);
  return static_cast<uint32_t>(tiles);
}
} // namespace

llvm::Expected<PackedArguments>
flashc::packArrays(const std::string &kernel, const Manifest &manifest,
                   llvm::ArrayRef<ArrayArg> args) {
  if (args.size() != manifest.params.size())
    return makeError("kernel '{}' takes {} arrays, but {} are given; pass "
                     "those of its manifest, in that order",
                     kernel, manifest.params.size(), args.size());
  PackedArguments packed;
  for (auto [param, arg] : llvm::zip(manifest.params, args)) {
    Checked checked{param, arg, kernel};
    if (llvm::Error error = checked.sizes())
      return std::move(error);
    if (llvm::Error error = checked.strides())
      return std::move(error);
    if (llvm::Error error = checked.address(manifest.alignment))
      return std::move(error);
    pack(param, arg, packed.slots);
  }
  return packed;
}

llvm::Error flashc::packTensorMaps(const std::string &kernel,
                                   const Manifest &manifest,
                                   llvm::ArrayRef<ArrayArg> args,
                                   PackedArguments &packed) {
  for (const TensorMap &map : manifest.tensorMaps) {
    llvm::Expected<TensorMapDescription> description = describeTensorMap(
        kernel, manifest.params[map.param], args[map.param], map.rows);
    if (!description)
      return description.takeError();
    packed.tensorMaps.push_back(std::move(*description));
  }
  return llvm::Error::success();
}

llvm::Expected<PackedArguments>
flashc::packArguments(const std::string &kernel, const Manifest &manifest,
                      llvm::ArrayRef<ArrayArg> args) {
  llvm::Expected<PackedArguments> arrays = packArrays(kernel, manifest, args);
  if (!arrays)
    return arrays;
  PackedArguments packed = std::move(*arrays);
  if (llvm::Error error = Together(kernel, manifest, args).check())
    return std::move(error);
  auto together = packHeads(manifest, args);
  if (together) {
    args = *together;
    packed.slots.clear();
    for (auto [param, arg] : llvm::zip(manifest.params, args))
      pack(param, arg, packed.slots);
  }
  if (llvm::Error error = packTensorMaps(kernel, manifest, args, packed))
    return std::move(error);
  for (auto [param, arg] : llvm::zip(manifest.params, args)) {
    if (param.kind != ParamKind::Query)
      continue;
    llvm::Expected<uint32_t> tiles = countTiles(kernel, manifest, arg);
    if (!tiles)
      return tiles.takeError();
    packed.grid = *tiles;
  }
  packed.threads = static_cast<uint32_t>(manifest.threads());
  return packed;
}
