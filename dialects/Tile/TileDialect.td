#ifndef FLASHC_TILE_DIALECT
#define FLASHC_TILE_DIALECT

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::flashc::tile";
  let summary = "Level 2: how attention is blocked";
  let description = [{
    A kernel is a `tile.kernel` whose body runs once for each (batch, query head, query block), or as its grid says. Tiles are statically
    shaped tensors with value semantics: rank 2 (rows x columns) for Q, K, V, scores, probabilities and the accumulator,
    rank 1 (one element a row) for the running maximum and sum. Loops over key blocks are `scf.for`, with maximum, sum
    and accumulator as loop-carried values. Global tensors are 4-D `memref` views in the order (batch, head, length, head
    dim) whatever the caller's layout is: a layout is nothing but strides here. There are no threads, barriers or
    swizzles on this level.

    Two stages: first the running softmax is whole ops (`tile.softmax_update`, `tile.rescale`, `tile.mask`,
    `tile.finish`), on which the algorithmic passes work; `tile-expand-softmax` then writes them out as `tile.map`, `tile.reduce`
    and `scf.if`, the only compute ops beside `tile.dot` that the CPU and the GPU conversions know. So both run the same
    recurrence.

    The backward is several kernels. In its main loop rows of a pair's tiles are keys and columns queries, so values of
    queries (LSE, D) are tiles of one row; P and dS are recomputed (`tile.probs`, `tile.probs_gradient`), and dQ is added to memory
    (`tile.accumulate`).
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
