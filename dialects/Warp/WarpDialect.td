#ifndef FLASHC_WARP_DIALECT
#define FLASHC_WARP_DIALECT

include "mlir/IR/OpBase.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::flashc::warp";
  let summary = "Level 3: how one streaming multiprocessor runs a tile kernel";
  let description = [{
    Every value has a place. A `!warp.fragment` lives in registers, a `!warp.buffer` in shared memory with a swizzle, a
    `!warp.channel` is a ring of buffers between global memory and the block's warps. Nothing on this level knows of attention.

    A fragment type names the block's whole tile. Its rows are dealt to the warps in equal contiguous parts, each a multiple of
    16. With fewer than 16 rows for each warp, R / 16 warps hold the rows, as many again the same rows of the next columns, and so
    on: warp w has rows 16 * (w % (R / 16)) on and part w / (R / 16) of the columns. Inside a warp, an m16n8 tile is held as by the accumulator of `mma.sync` (PTX ISA, m16n8k16): lane t has
    rows t/4 and t/4 + 8 and columns 2*(t%4) and 2*(t%4) + 1, in the order (row t/4: two columns; row t/4 + 8: two columns).
    Two neighbouring 16-bit tiles are then also the A operand of one m16n8k16 step, so a product's result feeds the
    next product without a move. A rank-1 fragment has one value a row, the same in the four lanes of a quad, or, if
    `partial`, four values whose sum it is. Column values (`1 x C`, `of R`) are what a tile of R rows has in each of its rows.

    A buffer of R x C elements is stored as C / segment slabs of R rows of `segment` elements; the 16-byte
    pieces of a row are permuted (XOR) so that eight consecutive rows of one column hit all 32 banks: with w = segment * bytes / 16
    pieces in a row (8, 4 or 2), piece p of row r is stored at p ^ ((r / (8 / w)) % w).
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
