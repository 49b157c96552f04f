//===- MaskSets.cpp - From the mask algebra to affine sets ----------------===//
//
// Used by convert-attn-to-tile. In: an attribute of the mask algebra. Out: the
// same mask as a union of intersections of half-planes `e(i, j) >= 0`.
// `not` is pushed to the leaves first (the negation of e >= 0 is -e - 1 >= 0
// over the integers), then `and` distributes over `or`. Sets that are empty or
// inside another set are dropped.
//
//===----------------------------------------------------------------------===//
#include "MaskSets.h"

#include "flashc/Dialect/Tile/IR/AffineSets.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc::attn;

namespace flashc {
namespace {
/// An intersection of half-planes, each given by its left side `e` of e >= 0.
using Conjunction = SmallVector<AffineExpr>;
/// A union of intersections. Empty: nothing is visible.
using Disjunction = SmallVector<Conjunction>;

class MaskNormaliser {
public:
  explicit MaskNormaliser(MLIRContext *context)
      : i(getAffineDimExpr(0, context)), j(getAffineDimExpr(1, context)),
        sq(getAffineSymbolExpr(kSymbolSq, context)),
        keyLength(getAffineSymbolExpr(kSymbolKeyLength, context)) {}

  /// `mask` or, with `negated`, its complement. The verifier of attn.forward
  /// keeps the number of sets small.
  Disjunction normalise(Attribute mask, bool negated);
  AffineExpr insideKeyLength() const { return keyLength - 1 - j; }
  AffineExpr insideQueries() const { return sq - 1 - i; }

private:
  AffineExpr offset(Align align) const {
    return align == Align::BottomRight ? keyLength - sq : sq - sq;
  }
  Conjunction leafPlanes(Attribute leaf) const;
  Disjunction join(ArrayRef<Attribute> parts, bool negated, bool isAnd);
  AffineExpr i, j, sq, keyLength;
};

/// The constant e1 - e2 is, if it is one.
std::optional<int64_t> difference(AffineExpr e1, AffineExpr e2) {
  AffineExpr d = simplifyAffineExpr(e1 - e2, 2, kNumMaskSymbols);
  if (auto constant = dyn_cast<AffineConstantExpr>(d))
    return constant.getValue();
  return std::nullopt;
}

/// Adds e >= 0. False when the intersection is then known to be empty.
bool addPlane(Conjunction &planes, AffineExpr e) {
  e = simplifyAffineExpr(e, 2, kNumMaskSymbols);
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return constant.getValue() >= 0;
  for (AffineExpr &other : planes) {
    // e >= 0 and other >= 0 with e + other < 0: empty.
    auto sum = difference(e, -other);
    if (sum && *sum < 0)
      return false;
    if (auto d = difference(e, other)) { // parallel: the tighter one stays
      if (*d < 0)
        other = e;
      return true;
    }
  }
  planes.push_back(e);
  return true;
}

/// Whether every point of `inner` lies in `outer`, as far as single planes
/// show.
bool isInside(const Conjunction &inner, const Conjunction &outer) {
  return llvm::all_of(outer, [&](AffineExpr o) {
    return llvm::any_of(inner, [&](AffineExpr e) {
      auto d = difference(o, e);
      return d && *d >= 0;
    });
  });
}

void addSet(Disjunction &sets, Conjunction planes) {
  for (const Conjunction &set : sets)
    if (isInside(planes, set))
      return;
  llvm::erase_if(sets,
                 [&](const Conjunction &set) { return isInside(set, planes); });
  sets.push_back(std::move(planes));
}

Conjunction MaskNormaliser::leafPlanes(Attribute leaf) const {
  return llvm::TypeSwitch<Attribute, Conjunction>(leaf)
      .Case([&](CausalAttr mask) {
        return Conjunction{i + offset(mask.getAlign()) - j};
      })
      .Case([&](WindowAttr mask) {
        Conjunction planes;
        AffineExpr diagonal = i + offset(mask.getAlign());
        // A side as wide as any length hides no key, and `i + offset` plus it
        // would leave the 32 bits that `index` has on a GPU.
        if (mask.getLeft() >= 0 && mask.getLeft() < kMaxMaskBound)
          planes.push_back(j - diagonal + mask.getLeft());
        if (mask.getRight() >= 0 && mask.getRight() < kMaxMaskBound)
          planes.push_back(diagonal + mask.getRight() - j);
        return planes;
      })
      .Case([&](PrefixAttr mask) {
        return Conjunction{mask.getLength() - 1 - j};
      })
      .Case([&](KeyLengthAttr) { return Conjunction{insideKeyLength()}; })
      .Default([](Attribute) -> Conjunction {
        llvm_unreachable("the verifier lets no other mask through");
      });
}

/// The union, or with `isAnd` the intersection, of `parts`.
Disjunction MaskNormaliser::join(ArrayRef<Attribute> parts, bool negated,
                                 bool isAnd) {
  Disjunction result;
  if (isAnd)
    result.push_back({}); // everything
  for (Attribute part : parts) {
    Disjunction sets = normalise(part, negated);
    Disjunction next = isAnd ? Disjunction() : result;
    if (!isAnd) {
      for (Conjunction &set : sets)
        addSet(next, std::move(set));
    } else {
      for (const Conjunction &left : result)
        for (const Conjunction &right : sets) {
          Conjunction both = left;
          if (llvm::all_of(right,
                           [&](AffineExpr e) { return addPlane(both, e); }))
            addSet(next, std::move(both));
        }
    }
    result = std::move(next);
  }
  return result;
}

Disjunction MaskNormaliser::normalise(Attribute mask, bool negated) {
  if (auto part = dyn_cast<NotAttr>(mask))
    return normalise(part.getPart(), !negated);
  if (auto parts = dyn_cast<AndAttr>(mask))
    return join(parts.getParts(), negated, /*isAnd=*/!negated);
  if (auto parts = dyn_cast<OrAttr>(mask))
    return join(parts.getParts(), negated, /*isAnd=*/negated);
  Conjunction planes = leafPlanes(mask);
  Disjunction result;
  if (!negated) {
    Conjunction kept;
    if (llvm::all_of(planes, [&](AffineExpr e) { return addPlane(kept, e); }))
      result.push_back(std::move(kept));
    return result;
  }
  for (AffineExpr e : planes) {
    Conjunction outside;
    if (addPlane(outside, -e - 1))
      addSet(result, std::move(outside));
  }
  return result;
}
} // namespace

SmallVector<IntegerSet> maskToSets(Attribute mask, MLIRContext *context,
                                   bool boundQueries) {
  MaskNormaliser normaliser(context);
  Disjunction sets = {{}};
  if (mask)
    sets = normaliser.normalise(mask, /*negated=*/false);
  Disjunction bounded;
  for (Conjunction &planes : sets)
    if (addPlane(planes, normaliser.insideKeyLength()) &&
        (!boundQueries || addPlane(planes, normaliser.insideQueries())))
      addSet(bounded, std::move(planes));
  SmallVector<IntegerSet> result;
  for (const Conjunction &planes : bounded)
    result.push_back(IntegerSet::get(2, kNumMaskSymbols, planes,
                                     SmallVector<bool>(planes.size(), false)));
  return result;
}

/// Whether some j <= i + ..., which grows with i, and some j >= i + ..., which
/// shrinks with it.
static std::pair<bool, bool> findTrends(ArrayRef<IntegerSet> sets) {
  bool grows = false, shrinks = false;
  for (IntegerSet set : sets)
    for (const tile::LinearInequality &e : tile::getLinearInequalities(set)) {
      grows |= e.row > 0 && e.key < 0;
      shrinks |= e.row < 0 && e.key > 0;
    }
  return {grows, shrinks};
}

bool laterRowsSeeMore(ArrayRef<IntegerSet> sets) {
  return findTrends(sets) == std::pair(true, false);
}

bool laterRowsSeeLess(ArrayRef<IntegerSet> sets) {
  return findTrends(sets) == std::pair(false, true);
}
} // namespace flashc
