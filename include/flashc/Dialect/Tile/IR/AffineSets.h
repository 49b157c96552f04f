// The linear form of the inequalities of a tile.mask.
#ifndef FLASHC_DIALECT_TILE_IR_AFFINESETS_H
#define FLASHC_DIALECT_TILE_IR_AFFINESETS_H

#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace flashc::tile {

/// `row * i + key * j + sum(symbols * s) + constant >= 0`.
struct LinearInequality {
  int64_t row = 0, key = 0, constant = 0;
  llvm::SmallVector<int64_t> symbols;
};

/// The linear form of `e >= 0` over (i, j)[numSymbols symbols]; nullopt where
/// it is not linear (mod, floordiv).
std::optional<LinearInequality> getLinearInequality(mlir::AffineExpr e,
                                                    unsigned numSymbols);

/// All inequalities of a set of a verified tile.mask.
llvm::SmallVector<LinearInequality> getLinearInequalities(mlir::IntegerSet set);

} // namespace flashc::tile

#endif // FLASHC_DIALECT_TILE_IR_AFFINESETS_H
