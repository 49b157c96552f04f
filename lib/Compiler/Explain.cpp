// Costs of a kernel from its manifest, its mask and its target: what
// `flashc --explain` prints. Formulas only.
#include "flashc/Compiler/Explain.h"

#include "ExplainText.h"

#include "flashc/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace flashc;
using namespace flashc::attn;

namespace {
/// Sorted, disjoint, half-open ranges of keys.
using Ranges = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>;

/// One row of the score matrix.
struct RowOfKeys {
  int64_t row, queries, keys;

  Ranges clip(int64_t lo, int64_t hi) const {
    lo = std::clamp<int64_t>(lo, 0, keys);
    hi = std::clamp<int64_t>(hi, 0, keys);
    return lo < hi ? Ranges{{lo, hi}} : Ranges{};
  }
  Ranges complement(const Ranges &ranges) const {
    Ranges result;
    int64_t from = 0;
    for (auto [lo, hi] : ranges) {
      if (from < lo)
        result.push_back({from, lo});
      from = hi;
    }
    if (from < keys)
      result.push_back({from, keys});
    return result;
  }
  static Ranges unite(Ranges a, const Ranges &b) {
    a.append(b.begin(), b.end());
    llvm::sort(a);
    Ranges result;
    for (auto range : a)
      if (!result.empty() && range.first <= result.back().second)
        result.back().second = std::max(result.back().second, range.second);
      else
        result.push_back(range);
    return result;
  }
  Ranges band(int64_t left, int64_t right, Align align) const {
    int64_t d = row + (align == Align::BottomRight ? keys - queries : 0);
    return clip(left < 0 ? 0 : d - left, right < 0 ? keys : d + right + 1);
  }
  Ranges visible(Attribute mask) const;
};

Ranges RowOfKeys::visible(Attribute mask) const {
  return TypeSwitch<Attribute, Ranges>(mask)
      .Case<CausalAttr>([&](CausalAttr m) { return band(-1, 0, m.getAlign()); })
      .Case<WindowAttr>([&](WindowAttr m) {
        return band(m.getLeft(), m.getRight(), m.getAlign());
      })
      .Case<PrefixAttr>([&](PrefixAttr m) { return clip(0, m.getLength()); })
      .Case<OrAttr>([&](OrAttr m) {
        Ranges all;
        for (Attribute part : m.getParts())
          all = unite(all, visible(part));
        return all;
      })
      .Case<AndAttr>([&](AndAttr m) {
        Ranges hidden; // De Morgan: one operation less
        for (Attribute part : m.getParts())
          hidden = unite(hidden, complement(visible(part)));
        return complement(hidden);
      })
      .Case<NotAttr>(
          [&](NotAttr m) { return complement(visible(m.getPart())); })
      .Default([&](Attribute) { return clip(0, keys); });
}
} // namespace

int64_t flashc::countVisible(Attribute mask, int64_t queries, int64_t keys) {
  if (!mask)
    return queries * keys;
  int64_t count = 0;
  for (int64_t row = 0; row < queries; ++row)
    for (auto [lo, hi] : RowOfKeys{row, queries, keys}.visible(mask))
      count += hi - lo;
  return count;
}

/// Blocks that fit on one multiprocessor at once.
static int64_t countResident(const Manifest &manifest,
                             const TargetInfo &target) {
  int64_t threads = manifest.threads();
  int64_t shared = manifest.sharedBytes + target.sharedBytesReservedPerBlock;
  int64_t resident = target.sharedBytesPerSM / std::max<int64_t>(shared, 1);
  resident = std::min(resident, 32 * target.maxWarpsPerSM /
                                    std::max<int64_t>(threads, 1));
  if (manifest.registers > 0) // handed out in units of 8 a thread
    resident =
        std::min(resident, target.registersPerSM /
                               ((manifest.registers + 7) / 8 * 8 * threads));
  return std::max<int64_t>(resident, 1);
}

Costs flashc::computeCosts(const Manifest &manifest, Attribute mask,
                           const TargetInfo &target, const ProblemSize &size) {
  double element = manifest.dtype == "f32" ? 4 : 2;
  double d = manifest.headDim, dv = manifest.valueHeadDim;
  double rows = double(size.batch) * size.heads * size.queries;
  double keyRows = double(size.batch) * size.kvHeads * size.keys;
  int64_t visible = countVisible(mask, size.queries, size.keys);
  int64_t queryBlocks = (size.queries + manifest.qBlock - 1) /
                        std::max<int64_t>(1, manifest.qBlock);
  Costs costs;
  costs.flops = 2 * (d + dv) * double(visible) * size.batch * size.heads;
  double rowBytes = rows * ((d + dv) * element + 4);
  costs.leastBytes = rowBytes + keyRows * (d + dv) * element;
  double share = size.queries && size.keys
                     ? double(visible) / (double(size.queries) * size.keys)
                     : 0;
  costs.blockBytes = rowBytes + double(size.batch) * size.heads * queryBlocks *
                                    share * size.keys * (d + dv) * element;
  costs.intensity = costs.leastBytes ? costs.flops / costs.leastBytes : 0;
  double n = std::max(size.queries, size.keys),
         m = target.sharedBytesPerBlock / element;
  double wide = std::max(d, dv), heads = double(size.batch) * size.heads;
  costs.fusedElements = heads * n * n * wide * wide / m;
  costs.unfusedElements = heads * (n * wide + n * n);
  costs.blocks = size.batch * size.heads * queryBlocks;
  if (!target.isCPU) {
    costs.residentBlocks = countResident(manifest, target);
    costs.waves =
        double(costs.blocks) /
        double(costs.residentBlocks * std::max<int64_t>(1, target.smCount));
  }
  return costs;
}

std::string flashc::quantity(double value) {
  static constexpr const char *units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", value, units[unit]);
}

static std::string describeKernel(const Manifest &manifest,
                                  const TargetInfo &target) {
  std::string text = fmt::format(
      "target       {}\n"
      "attention    {} {}, head dim {}, value head dim {}, scale {:.6g}, mask "
      "{}\n"
      "tiles        {} queries x {} keys, {} stages, {} warps{}\n",
      target.arch, manifest.dtype, manifest.layout, manifest.headDim,
      manifest.valueHeadDim, manifest.scale, manifest.mask, manifest.qBlock,
      manifest.kvBlock, manifest.stages, manifest.warps,
      manifest.producerWarps ? " and one that loads" : "");
  if (target.isCPU)
    return text + fmt::format("on-chip      {} bytes of L2 planned with\n",
                              target.sharedBytesPerBlock);
  text += fmt::format("shared       {} bytes used of {} available to a block\n",
                      manifest.sharedBytes, target.sharedBytesPerBlock);
  if (manifest.registers < 0)
    return text + "registers    unknown: ptxas was not found\n";
  return text +
         fmt::format("registers    {} a thread{}, {} bytes spilled (ptxas)\n",
                     manifest.registers,
                     manifest.producerWarps ? " at the launch" : "",
                     manifest.spillBytes);
}

std::string flashc::explain(const Manifest &manifest, Attribute mask,
                            const TargetInfo &target, const ProblemSize &size) {
  Costs costs = computeCosts(manifest, mask, target, size);
  std::string text = describeKernel(manifest, target);
  text += fmt::format(
      "\nfor batch {}, {} query heads, {} key heads, {} queries, {} keys\n"
      "flops        {} (2 (D + Dv) for each visible pair)\n"
      "HBM bytes    {}B (each array once) to {}B (K and V once a query block)\n"
      "intensity    {:.4g} flops a byte\n"
      "IO bound     N^2 d^2 / M = {} elements; unfused N d + N^2 = {} "
      "elements; "
      "{:.3g}x fewer\n",
      size.batch, size.heads, size.kvHeads, size.queries, size.keys,
      quantity(costs.flops), quantity(costs.leastBytes),
      quantity(costs.blockBytes), costs.intensity,
      quantity(costs.fusedElements), quantity(costs.unfusedElements),
      costs.fusedElements ? costs.unfusedElements / costs.fusedElements : 0);
  if (target.isCPU)
    return text + fmt::format("grid         {} blocks\n", costs.blocks);
  return text +
         fmt::format(
             "grid         {} blocks, {} at once on each of {} SMs: {:.2f} "
             "waves\n",
             costs.blocks, costs.residentBlocks, target.smCount, costs.waves);
}
