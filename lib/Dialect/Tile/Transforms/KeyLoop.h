// The shape of a key loop that tile-overlap knows how to take apart.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_KEYLOOP_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_KEYLOOP_H

#include "flashc/Dialect/Tile/IR/Tile.h"

namespace flashc::tile {

/// A loop over key blocks that carries (acc, m, l):
///
///     k = next keys[j];  s = scores(q, k);  softmax_update(.. s .., m, l)
///     v = next values[j];  yield values(p, v, rescale(acc, alpha)), m', l'
///
/// with a block number that goes by j: j itself, or j in another order.
/// `softmax` are the other ops of the body in order: score function, mask,
/// softmax_update, rescale and the cast of p. They write no memory, and those
/// that read it are maps of one tile to another of its type.
struct KeyLoop {
  mlir::scf::ForOp loop;
  NextOp keyNext, valueNext;
  DotOp scores, values;
  SoftmaxUpdateOp update;
  RescaleOp rescale;
  llvm::SmallVector<mlir::Operation *> softmax;
  bool isMasked = false;

  mlir::Value getProbs() { return values.getLhs(); }
};

/// `index`, which is made in `loop` from its induction variable, made anew from
/// `j`.
mlir::Value cloneIndex(mlir::OpBuilder &b, mlir::Value index,
                       mlir::scf::ForOp loop, mlir::Value j);

/// Whether `map` is a score function on captured tensors.
bool readsMemory(MapOp map);

/// `loop` as such; null and the reason in `why` where it is something else.
std::optional<KeyLoop> matchKeyLoop(mlir::scf::ForOp loop, std::string &why);

using KeyChain = llvm::SmallVector<KeyLoop>;

/// The loops at the top of `kernel`, if they are key loops that carry each
/// other on over one stream of K and one of V, which nothing else reads, and
/// some block of them can be computed where there are no keys. Otherwise empty,
/// with a remark at the first loop that is something else.
KeyChain findKeyChain(KernelOp kernel);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_KEYLOOP_H
