// The mask algebra of `attn` as a union of affine sets.
#ifndef FLASHC_LIB_CONVERSION_ATTNTOTILE_MASKSETS_H
#define FLASHC_LIB_CONVERSION_ATTNTOTILE_MASKSETS_H

#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"

namespace flashc {

/// The symbols of the sets, in the order of a `tile.mask`'s operands.
enum MaskSymbol : unsigned {
  kSymbolSq = 0,
  kSymbolKeyLength = 1,
  kNumMaskSymbols = 2
};

/// The keys that `mask` (null: all) lets through, each set with `j < key
/// length` and, with `boundQueries`, `i < Sq`. No set at all: no key is
/// visible.
llvm::SmallVector<mlir::IntegerSet> maskToSets(mlir::Attribute mask,
                                               mlir::MLIRContext *context,
                                               bool boundQueries = false);

/// Whether later rows see more keys than earlier ones, as under a causal mask,
/// or less; under a window, say, it is neither.
bool laterRowsSeeMore(llvm::ArrayRef<mlir::IntegerSet> sets);
bool laterRowsSeeLess(llvm::ArrayRef<mlir::IntegerSet> sets);

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_ATTNTOTILE_MASKSETS_H
