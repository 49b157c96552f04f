// The loop of a backward over pairs of a key block and query blocks, for
// tile-overlap-pairs.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_PAIRLOOP_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_PAIRLOOP_H

#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashc::tile {

/// What tile-join-heads leaves: a loop that carries indices (the pair's place)
/// and sums, and whose body computes, with keys as rows,
///
///   s = k q^T, p = probs(mask(s)), dp = v do^T, ds = p * (dp - delta)
///   dv += p do, dk += ds q, accumulate ds^T k
///
/// with p and ds rounded to 16 bits. A map makes s' of s where there is a score
/// function, and f where ds is its derivative's multiple f * ds.
struct PairLoop {
  mlir::scf::ForOp loop;
  LoadOp query, outputGradient, lse, delta;
  DotOp scores, gradient, ofValues, ofKeys, ofQueries;
  ProbsOp probs;
  ProbsGradientOp scoreGradient;
  MapOp roundedProbs, roundedGradient;
  MapOp scaledGradient; // f * ds; null where there is none
  AccumulateOp accumulate;
  /// Of ds, to a gradient of a capture: tile.scatter and tile.accumulate.
  llvm::SmallVector<mlir::Operation *, 1> beside;
};

/// The parts of `loop`; none where it is not of this shape.
std::optional<PairLoop> matchPairLoop(mlir::scf::ForOp loop);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_PAIRLOOP_H
