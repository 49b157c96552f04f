// Rows of all query heads of a key head in one tile, where they are few.
#include "flashc/Runtime/Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace flashc;

namespace {
/// Batch, head, row.
constexpr size_t kHead = 1, kRow = 2;
constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();

bool hasRows(ParamKind kind) {
  return kind == ParamKind::Query || kind == ParamKind::Output ||
         kind == ParamKind::Lse;
}

/// The array with `group` heads side by side as rows of one, or none where they
/// do not lie so in memory or the kernel does not take it.
std::optional<ArrayArg> packed(const KernelParam &param, const ArrayArg &arg,
                               int64_t group) {
  if (param.rank() <= kRow)
    return std::nullopt;
  int64_t heads = arg.shape[kHead], rows = arg.shape[kRow];
  auto takes = [](llvm::ArrayRef<int64_t> wanted, size_t dim, int64_t number) {
    return wanted.empty() || wanted[dim] == KernelParam::kDynamic ||
           wanted[dim] == number;
  };
  ArrayArg out = arg;
  out.shape[kHead] = heads / group;
  out.shape[kRow] = rows * group;
  for (size_t dim : {kHead, kRow})
    if (!takes(param.shape, dim, out.shape[dim]))
      return std::nullopt;
  if (arg.strides.empty())
    return out; // contiguous
  int64_t ofRow = rows == 1 ? arg.strides[kHead] : arg.strides[kRow];
  out.strides[kHead] = ofRow * rows * group;
  out.strides[kRow] = ofRow;
  if (arg.strides[kHead] != ofRow * rows)
    return std::nullopt;
  for (size_t dim : {kHead, kRow})
    if (!takes(param.strides, dim, out.strides[dim]))
      return std::nullopt;
  return out;
}
} // namespace

std::optional<llvm::SmallVector<ArrayArg, 8>>
flashc::packHeads(const Manifest &manifest, llvm::ArrayRef<ArrayArg> args) {
  const KernelParam *query = manifest.find(ParamKind::Query),
                    *key = manifest.find(ParamKind::Key);
  if (!manifest.rowsAlike || !query || !key || query->rank() <= kRow ||
      key->rank() <= kRow)
    return std::nullopt;
  const ArrayArg &q = args[query - manifest.params.data()],
                 &k = args[key - manifest.params.data()];
  int64_t heads = q.shape[kHead], rows = q.shape[kRow];
  if (rows == 0 || k.shape[kHead] == 0 || heads == k.shape[kHead])
    return std::nullopt;
  int64_t group = heads / k.shape[kHead];
  bool isFewer =
      llvm::divideCeil(rows * group, manifest.qBlock) < uint64_t(group);
  if (rows >= manifest.qBlock || rows * group > kMaxRows || !isFewer)
    return std::nullopt;
  llvm::SmallVector<ArrayArg, 8> out;
  for (auto [param, arg] : llvm::zip_equal(manifest.params, args)) {
    std::optional<ArrayArg> own = arg;
    if (hasRows(param.kind))
      own = packed(param, arg, group);
    if (!own)
      return std::nullopt;
    out.push_back(std::move(*own));
  }
  return out;
}
