// attn-simplify-mask: first on the `attn` level. One spelling for one mask;
// equal masks then give equal IR on every level below.
//
// `not` is pushed to the leaves, and each conjunction or disjunction gathers
// its leaves by family. A family is a chain of sets ordered by inclusion (bands
// of one alignment, prefixes), so that any number of its members is one.
#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

using namespace mlir;

namespace flashc::attn {
#define GEN_PASS_DEF_ATTNSIMPLIFYMASK
#include "Attn/AttnPasses.h.inc"

namespace {
constexpr int64_t kUnbounded = -1;

/// The mask under which every key is visible has no attribute; this class gives
/// it a name, so that the algebra has a top.
struct Simplifier {
  MLIRContext *context;

  Attribute always() {
    return WindowAttr::get(context, kUnbounded, kUnbounded, Align::BottomRight);
  }
  Attribute never() { return PrefixAttr::get(context, 0); }
  bool isAlways(Attribute mask) { return mask == always(); }
  bool isNever(Attribute mask) { return mask == never(); }

  Attribute simplify(Attribute mask, bool negated);
  Attribute leaf(Attribute mask, bool negated);
  Attribute combine(ArrayRef<Attribute> parts, bool conjunction);
  void absorb(llvm::SmallSetVector<Attribute, 8> &parts, bool conjunction);
};

/// A band of keys around the diagonal.
struct Band {
  int64_t left, right;
};

// -1 as an unsigned number is larger than every bound.
int64_t smaller(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) < static_cast<uint64_t>(b) ? a : b;
}
int64_t larger(int64_t a, int64_t b) { return smaller(a, b) == a ? b : a; }

/// Members of one chain of sets under one connective: `held` is the meet (and)
/// or join (or) of the plain ones, `denied` that of the negated ones seen
/// from inside the `not`.
template <typename Set> struct Chain {
  std::optional<Set> held, denied;
};

Band meet(Band a, Band b) {
  return {smaller(a.left, b.left), smaller(a.right, b.right)};
}
// Both bands hold the diagonal, so that their union has no gap.
Band join(Band a, Band b) {
  return {larger(a.left, b.left), larger(a.right, b.right)};
}
bool contains(Band outer, Band inner) {
  Band m = meet(outer, inner);
  return m.left == inner.left && m.right == inner.right;
}
int64_t meet(int64_t a, int64_t b) { return std::min(a, b); }
int64_t join(int64_t a, int64_t b) { return std::max(a, b); }
bool contains(int64_t outer, int64_t inner) { return outer >= inner; }

template <typename Set>
void add(Chain<Set> &chain, Set set, bool negated, bool conjunction) {
  std::optional<Set> &slot = negated ? chain.denied : chain.held;
  bool meets = conjunction != negated;
  slot = !slot ? set : meets ? meet(*slot, set) : join(*slot, set);
}

/// In `and`, held <= denied leaves nothing; in `or`, denied <= held leaves all.
template <typename Set>
bool collapses(const Chain<Set> &chain, bool conjunction) {
  if (!chain.held || !chain.denied)
    return false;
  return conjunction ? contains(*chain.denied, *chain.held)
                     : contains(*chain.held, *chain.denied);
}

std::optional<std::pair<Align, Band>> asBand(Attribute mask) {
  if (auto causal = dyn_cast<CausalAttr>(mask))
    return std::pair(causal.getAlign(), Band{kUnbounded, 0});
  if (auto window = dyn_cast<WindowAttr>(mask))
    return std::pair(window.getAlign(),
                     Band{window.getLeft(), window.getRight()});
  return std::nullopt;
}

/// Three chains: bands of both alignments, and prefixes.
struct Families {
  MLIRContext *context;
  bool conjunction;
  Chain<Band> bands[2];
  Chain<int64_t> prefixes;

  /// Takes `part` if it belongs to a family.
  bool take(Attribute part) {
    auto inverted = dyn_cast<NotAttr>(part);
    Attribute leaf = inverted ? inverted.getPart() : part;
    if (auto band = asBand(leaf))
      add(bands[static_cast<int>(band->first)], band->second, bool(inverted),
          conjunction);
    else if (auto prefix = dyn_cast<PrefixAttr>(leaf))
      add(prefixes, prefix.getLength(), bool(inverted), conjunction);
    else
      return false;
    return true;
  }

  bool collapse() const {
    return collapses(bands[0], conjunction) ||
           collapses(bands[1], conjunction) || collapses(prefixes, conjunction);
  }

  /// What the families have become, in a fixed order.
  SmallVector<Attribute> masks() const {
    SmallVector<Attribute> result;
    for (Align align : {Align::BottomRight, Align::TopLeft}) {
      const Chain<Band> &chain = bands[static_cast<int>(align)];
      if (chain.held)
        result.push_back(WindowAttr::get(context, chain.held->left,
                                         chain.held->right, align));
      if (chain.denied)
        result.push_back(
            NotAttr::get(context, WindowAttr::get(context, chain.denied->left,
                                                  chain.denied->right, align)));
    }
    if (prefixes.held)
      result.push_back(PrefixAttr::get(context, *prefixes.held));
    if (prefixes.denied)
      result.push_back(
          NotAttr::get(context, PrefixAttr::get(context, *prefixes.denied)));
    return result;
  }
};

Attribute Simplifier::leaf(Attribute mask, bool negated) {
  // The operand hides the keys past the length in any case, so that only masks
  // under which it holds matter.
  if (isa<KeyLengthAttr>(mask))
    return negated ? never() : always();
  if (auto band = asBand(mask)) {
    auto [left, right] = band->second;
    if (left == kUnbounded && right == kUnbounded)
      return negated ? never() : always();
    if (left == kUnbounded && right == 0)
      mask = CausalAttr::get(context, band->first);
  }
  if (!negated)
    return mask;
  return isNever(mask) ? always() : NotAttr::get(context, mask);
}

// Nested parts have no natural order, but and/or do not care for any.
void sortByText(SmallVectorImpl<Attribute> &parts) {
  auto text = [](Attribute part) {
    std::string result;
    llvm::raw_string_ostream(result) << part;
    return result;
  };
  llvm::sort(parts,
             [&](Attribute a, Attribute b) { return text(a) < text(b); });
}

// or(a, and(a, b)) = a, and the same with and/or exchanged.
void Simplifier::absorb(llvm::SmallSetVector<Attribute, 8> &parts,
                        bool conjunction) {
  auto inner = [&](Attribute part) -> ArrayRef<Attribute> {
    if (auto other = dyn_cast<OrAttr>(part); conjunction && other)
      return other.getParts();
    if (auto other = dyn_cast<AndAttr>(part); !conjunction && other)
      return other.getParts();
    return {};
  };
  SmallVector<Attribute> all(parts.begin(), parts.end());
  for (Attribute part : all)
    if (llvm::any_of(inner(part),
                     [&](Attribute x) { return llvm::is_contained(all, x); }))
      parts.remove(part);
}

Attribute Simplifier::combine(ArrayRef<Attribute> parts, bool conjunction) {
  Attribute neutral = conjunction ? always() : never();
  Attribute zero = conjunction ? never() : always();
  Families families{context, conjunction, {}, {}};
  SmallVector<Attribute> rest;
  for (Attribute part : parts) {
    if (part == zero)
      return zero;
    if (part != neutral && !families.take(part))
      rest.push_back(part);
  }
  if (families.collapse())
    return zero;
  llvm::SmallSetVector<Attribute, 8> merged;
  for (Attribute mask : families.masks()) {
    auto inverted = dyn_cast<NotAttr>(mask);
    mask = leaf(inverted ? inverted.getPart() : mask, bool(inverted));
    if (mask == zero)
      return zero;
    if (mask != neutral)
      merged.insert(mask);
  }
  sortByText(rest);
  merged.insert_range(rest);
  absorb(merged, conjunction);
  if (merged.empty())
    return neutral;
  if (merged.size() == 1)
    return merged.front();
  return conjunction ? Attribute(AndAttr::get(context, merged.getArrayRef()))
                     : Attribute(OrAttr::get(context, merged.getArrayRef()));
}

Attribute Simplifier::simplify(Attribute mask, bool negated) {
  if (auto inner = dyn_cast<NotAttr>(mask))
    return simplify(inner.getPart(), !negated);
  auto both = dyn_cast<AndAttr>(mask);
  auto either = dyn_cast<OrAttr>(mask);
  if (!both && !either)
    return leaf(mask, negated);
  bool conjunction = bool(both) != negated;
  SmallVector<Attribute> parts;
  for (Attribute part : both ? both.getParts() : either.getParts()) {
    Attribute simple = simplify(part, negated);
    if (auto same = dyn_cast<AndAttr>(simple); conjunction && same)
      llvm::append_range(parts, same.getParts());
    else if (auto same = dyn_cast<OrAttr>(simple); !conjunction && same)
      llvm::append_range(parts, same.getParts());
    else
      parts.push_back(simple);
  }
  return combine(parts, conjunction);
}

struct AttnSimplifyMask : impl::AttnSimplifyMaskBase<AttnSimplifyMask> {
  using Base::Base;
  void runOnOperation() override {
    Simplifier simplifier{&getContext()};
    getOperation()->walk([&](AttentionInterface op) {
      if (!op.getMask())
        return;
      Attribute mask = simplifier.simplify(*op.getMask(), /*negated=*/false);
      op.setMaskAttr(simplifier.isAlways(mask) ? Attribute() : mask);
    });
  }
};
} // namespace
} // namespace flashc::attn
