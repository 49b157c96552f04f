#ifndef FLASHC_TILE_OPS
#define FLASHC_TILE_OPS

include "Tile/TileAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Tile : StaticShapeTensorOf<[F16, BF16, F32, I1]>;         // rank 1 or 2
def Tile_Block : 2DTensorOf<[F16, BF16, F32]>;
def Tile_ScoreBlock : 2DTensorOf<[F32]>;
def Tile_Rows : 1DTensorOf<[F32]>;
def Tile_View : MemRefRankOf<[F16, BF16, F32], [4]>;       // batch, head, length, head dim
def Tile_RowValues : TensorOf<[F32]>;                      // one a row (rank 1), or one a column (1 x columns)

def Tile_StreamType : TypeDef<Tile_Dialect, "Stream"> {
  let mnemonic = "stream";
  let summary = "Blocks of a global tensor, to be read in ascending order";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;      // !tile.stream<64x128xf16>
  let genVerifyDecl = 1;
}

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "One attention kernel, run once for each (batch, query head, query block)";
  let description = [{
    Arguments are global views: 4-D (batch, head, length, head dim; last stride 1) for Q, K, V and O; 3-D (batch, head,
    length) f32 for LSE; captured tensors and `kv_lengths` as they are. Argument 0 is Q: it gives the grid,
    (dim 0 of Q) x (dim 1 of Q) x ceil(dim 2 of Q / q), where `grid` does not give another one. Arguments that are written carry
    `tile.output`. The blocks that are loaded (those of a loop `stages` times) fit into `sram` together. A module with several
    kernels runs them in order.
    ```mlir
    tile.kernel @fwd(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {schedule = #tile.schedule<
        q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>} { tile.return }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, Tile_ScheduleAttr:$schedule,
                       OptionalAttr<Tile_GridAttr>:$grid, OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// `grid`, or that of Q's blocks.
    GridAttr getGridOrDefault();
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "End of a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_ProgramOp : Tile_Op<"program", [Pure]> {
  let summary = "Which (batch, query head, query block) this run is for";
  let description = [{
    With `longest_first` the query blocks are handed out from the last to the first, so that under a causal mask the
    long ones start first. With `abreast(BYTES)` a block of several heads is handed out before the next block of the first: of as
    many heads as a GPU's L2 holds, with so many bytes for each row. With `descending` all are handed out from the last to the
    first: what a kernel in front touched last is in the L2 then. The results are the block's own numbers in any case.
    ```mlir
    %b, %h, %i = tile.program longest_first
    %b2, %h2, %i2 = tile.program longest_first abreast(1024)
    %b3, %h3, %i3 = tile.program descending
    ```
  }];
  let arguments = (ins UnitAttr:$longest_first, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$abreast,
                       UnitAttr:$descending);
  let results = (outs Index:$batch, Index:$head, Index:$block);
  let assemblyFormat = "(`longest_first` $longest_first^)? (`abreast` `(` $abreast^ `)`)? (`descending` $descending^)? attr-dict";
}

def Tile_OwnRowsOp : Tile_Op<"own_rows", [Pure]> {
  let summary = "The rows, of the query block that begins at `row`, that whoever computes has: from `first` to before `end`";
  let description = [{
    All `q` rows of the schedule; with roles, the 64 of each group and all of them for the warp that loads. Key loops whose bounds
    are made of it are each group's own; a stream then has the blocks of all groups, and one that skips some lets them pass.
    ```mlir
    %first, %end = tile.own_rows %row
    ```
  }];
  let arguments = (ins Index:$row);
  let results = (outs Index:$first, Index:$end);
  let assemblyFormat = "$row attr-dict";
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "A block of rows of one head of a global tensor";
  let description = [{
    Row r of the result is `view[batch, head, row + r, :]`. Rows at or past `limit` (default: dim 2 of the view) and columns past
    the view's head dim are zero, whatever memory holds there, and are not read. The tile has the view's element type and at
    least as many columns as its head dim. Of a 3-D view (batch, head, length) of f32 element r is `view[batch, head, row + r]`; the
    tile has rank 1 (a value for each row of a block) or is 1 x N (a value for each column).
    ```mlir
    %q = tile.load %view[%b, %h, %row] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<128x48xf16>
    ```
  }];
  let arguments = (ins MemRefRankOf<[F16, BF16, F32], [3, 4]>:$view, Index:$batch, Index:$head, Index:$row, Optional<Index>:$limit);
  let results = (outs TensorOf<[F16, BF16, F32]>:$tile);
  let assemblyFormat = [{ $view `[` $batch `,` $head `,` $row `]` (`limit` `(` $limit^ `)`)? attr-dict `:` type($view) `->` type($tile) }];
  let hasVerifier = 1;
}

def Tile_StreamOp : Tile_Op<"stream", [MemoryEffects<[MemRead]>]> {
  let summary = "The key blocks `lo` to `hi` of one head, to be read in ascending order, each once";
  let description = [{
    Block j holds rows `j * Bc` to `(j + 1) * Bc - 1` with Bc the rows of the stream's tiles; edges as for `tile.load`. A
    stream says which blocks will be needed before they are, so that a machine level can fetch ahead; on the CPU it is
    nothing but its `tile.next`. Kernels whose warps have roles may read the blocks in another order.
    ```mlir
    %ks = tile.stream %view[%b, %h] blocks(%lo to %hi) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.stream<64x64xf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, Index:$batch, Index:$head, Index:$lo, Index:$hi, Optional<Index>:$limit);
  let results = (outs Tile_StreamType:$stream);
  let assemblyFormat = [{ $view `[` $batch `,` $head `]` `blocks` `(` $lo `to` $hi `)` (`limit` `(` $limit^ `)`)? attr-dict `:` type($view) `->` qualified(type($stream)) }];
  let hasVerifier = 1;
}

def Tile_NextOp : Tile_Op<"next", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Block j of a stream";
  let description = [{
    ```mlir
    %k = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    ```
  }];
  let arguments = (ins Tile_StreamType:$stream, Index:$block);
  let results = (outs Tile_Block:$tile);
  let assemblyFormat = "$stream `[` $block `]` attr-dict `:` qualified(type($stream)) `->` type($tile)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Write a tile (rank 2) or row values (rank 1) to one head of a global tensor";
  let description = [{
    Rows at or past dim 2 of the view and columns past its head dim are not written. A rank-1 tile goes to a 3-D view. The
    tile has the view's element type and at least as many columns as its head dim.
    ```mlir
    tile.store %o, %view[%b, %h, %row] : tensor<128x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, MemRefRankOf<[F16, BF16, F32], [3, 4]>:$view, Index:$batch, Index:$head, Index:$row);
  let assemblyFormat = [{ $tile `,` $view `[` $batch `,` $head `,` $row `]` attr-dict `:` type($tile) `,` type($view) }];
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + A B, A^T for A with transpose_a, B^T for B with transpose_b; products exact, sums in f32";
  let description = [{
    A is M x K (K x M with `transpose_a`), B is K x N (N x K with `transpose_b`), acc is M x N f32; A and B share an element type.
    With `guarded`, a zero in A keeps its row of B out of the result even where B is NaN or infinite, as a masked key asks for. On a
    GPU a row of A that gives weight to such a B then becomes NaN as a whole; the CPU treats every product so, element by element.
    ```mlir
    %s = tile.dot %q, %k acc(%zero) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$lhs, Tile_Block:$rhs, Tile_ScoreBlock:$acc, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       UnitAttr:$guarded);
  let results = (outs Tile_ScoreBlock:$result);
  let assemblyFormat = [{ $lhs `,` $rhs `acc` `(` $acc `)` (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`guarded` $guarded^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result) }];
  let hasVerifier = 1;
}

def Tile_MaskOp : Tile_Op<"mask", [Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "Scores of keys outside every one of the sets become -inf";
  let description = [{
    Element (r, c) is at query `i = row + r` and key `j = col + c`. It keeps its score iff (i, j) lies in at least one of
    `sets`, each an affine set `(i, j)[symbols]` of inequalities, with the `symbols` operands for its symbols: a union of
    intersections, so that and, or and not of bands are all one form. Every inequality is linear and has a coefficient of
    -1, 0 or 1 for j; there are no equalities. No set at all hides every key. With `transposed` rows are keys and columns queries:
    element (r, c) is at query `i = row + c` and key `j = col + r`, and it is i that has a coefficient of -1, 0 or 1.
    ```mlir
    // causal, bottom-right, and j < Sk
    %r = tile.mask %s at(%i0, %j0) symbols(%sq, %sk) sets([affine_set<(i, j)[sq, sk] : (i + sk - sq - j >= 0, sk - 1 - j >= 0)>])
        : tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$scores, Index:$row, Index:$col, Variadic<Index>:$symbols, ArrayAttr:$sets,
                       UnitAttr:$transposed);
  let results = (outs Tile_ScoreBlock:$result);
  let assemblyFormat = [{ $scores `at` `(` $row `,` $col `)` (`transposed` $transposed^)? `symbols` `(` $symbols `)` `sets` `(` $sets `)` attr-dict `:` type($scores) }];
  let hasVerifier = 1;
}

def Tile_SoftmaxUpdateOp : Tile_Op<"softmax_update", [Pure, AllTypesMatch<["scores", "probs"]>,
    AllTypesMatch<["rowMax", "rowSum", "newMax", "newSum", "rescale"]>]> {
  let summary = "Fold one key block into the running softmax";
  let description = [{
    With `s, m, l` the operands, `B` the base and `c > 0` the scale:

        m'    = max(m, rowmax(s))
        p     = B^(c * (s - m'))
        alpha = B^(c * (m - m'))
        l'    = alpha * l + rowsum(p)

    Shapes: `s`, `p` are Br x Bc; `m`, `l`, `alpha` are Br; all f32. `m` is in units of raw scores
    (before `c`), `l` has none. Where `m' = -inf` (no key seen yet) the exponents read it as 0, so
    `p = alpha = 0` and never NaN. With `lazy(t)`, t > 0 and in units of the exponent, a row keeps `m' = m` while
    `c * (rowmax(s) - m) <= t`: p then stays below B^t and alpha is exactly 1, and the final division makes the result the
    same. With `offset(h)` the scores are `s[r, c] + h[r]`, and `s` is what a row's scores differ in. Source: FlashAttention-2
    (arXiv 2307.08691), Algorithm 1, line 9; lazy: FlashAttention-4.
    ```mlir
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(e) scale(0.125)
        : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$scores, Tile_Rows:$rowMax, Tile_Rows:$rowSum, Optional<Tile_Rows>:$offset,
                       Tile_ExpBase:$base, F32Attr:$scale, OptionalAttr<F32Attr>:$lazy);
  let results = (outs Tile_ScoreBlock:$probs, Tile_Rows:$newMax, Tile_Rows:$newSum, Tile_Rows:$rescale);
  let assemblyFormat = [{ $scores `,` $rowMax `,` $rowSum (`offset` `(` $offset^ `:` type($offset) `)`)? `base` `(` $base `)`
                          `scale` `(` $scale `)` (`lazy` `(` $lazy^ `)`)? attr-dict `:` type($scores) `,` type($rowMax) }];
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_Op<"rescale", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "Multiply each row of a tile by its factor";
  let description = [{
    ```mlir
    %o1 = tile.rescale %o by %alpha : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$tile, Tile_Rows:$factor);
  let results = (outs Tile_ScoreBlock:$result);
  let assemblyFormat = "$tile `by` $factor attr-dict `:` type($tile) `,` type($factor)";
  let hasVerifier = 1;
}

def Tile_FinishOp : Tile_Op<"finish", [Pure, AllTypesMatch<["acc", "output"]>, AllTypesMatch<["rowMax", "rowSum", "lse"]>]> {
  let summary = "The end of the running softmax: O = acc / l and LSE = ln(B) * c * m + ln(l)";
  let description = [{
    Rows with `l = 0` (no visible key) give O = 0 and LSE = -inf. LSE is in nats.
    ```mlir
    %o, %lse = tile.finish %acc, %m, %l base(two) scale(0.125) : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$acc, Tile_Rows:$rowMax, Tile_Rows:$rowSum, Tile_ExpBase:$base, F32Attr:$scale);
  let results = (outs Tile_ScoreBlock:$output, Tile_Rows:$lse);
  let assemblyFormat = [{ $acc `,` $rowMax `,` $rowSum `base` `(` $base `)` `scale` `(` $scale `)` attr-dict `:` type($acc) `,` type($rowMax) }];
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_Op<"map", [AttrSizedOperandSegments, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Apply scalar code to every element";
  let description = [{
    The body gets one scalar for each input and, with `at`, the element's global coordinates: (i) for rank 1, (i, j) for
    rank 2, counted from the given origin. Rank-1 inputs of a rank-2 map are broadcast along their row, inputs with a single
    row down their columns. All results have the shape of the largest input. The body holds scalar `arith`, `math` and `memref.load` ops and may use
    values from outside.
    ```mlir
    %r = tile.map ins(%s, %m : tensor<64x128xf32>, tensor<64xf32>) at(%i0, %j0) -> tensor<64x128xf16> {
    ^bb0(%x: f32, %y: f32, %i: index, %j: index):
      %d = arith.subf %x, %y : f32
      %h = arith.truncf %d : f32 to f16
      tile.yield %h : f16
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, Variadic<Index>:$origin);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `ins` `(` $inputs `:` type($inputs) `)` (`at` `(` $origin^ `)`)? attr-dict `->` type($results) $body }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp", "ScatterOp"]>]> {
  let summary = "The scalars that the body of a map or of a scatter computes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Tile_ProbsOp : Tile_Op<"probs", [Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "Softmax again, from scores and the log-sum-exp of their rows: p = B^(c * s) / e^lse";
  let description = [{
    `lse` is in nats, for each row of the scores (rank 1) or for each column (1 x columns, where queries are columns). A score of
    -inf, and a row whose `lse` is -inf (no visible key), give exactly 0. With `as_exponent` the values are what an exponent of two
    starts from, -log2(e) * lse, and -inf for a row without a visible key: one operation an exponent, which is off by its rounding, about
    1e-7 * |lse|. Source: FlashAttention-2 (arXiv 2307.08691), Algorithm 2, line 11.
    ```mlir
    %p = tile.probs %s, %lse base(e) scale(0.125) : tensor<64x128xf32>, tensor<1x128xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$scores, Tile_RowValues:$lse, Tile_ExpBase:$base, F32Attr:$scale, UnitAttr:$asExponent);
  let results = (outs Tile_ScoreBlock:$result);
  let assemblyFormat = [{ $scores `,` $lse `base` `(` $base `)` `scale` `(` $scale `)` (`as_exponent` $asExponent^)?
                          attr-dict `:` type($scores) `,` type($lse) }];
  let hasVerifier = 1;
}

def Tile_ProbsGradientOp : Tile_Op<"probs_gradient", [Pure, AllTypesMatch<["probs", "gradient", "result"]>]> {
  let summary = "The gradient of a softmax's scores: ds = p * (dp - delta)";
  let description = [{
    `gradient` is dp, the gradient of the probabilities; `delta` is the sum of p * dp over a row, for each row (rank 1) or for
    each column (1 x columns). With `guarded` the result is exactly 0 where p is, whatever dp is there: a masked
    key's V may hold NaN. Source: FlashAttention-2 (arXiv 2307.08691), Algorithm 2, line 14.
    ```mlir
    %ds = tile.probs_gradient %p, %dp, %delta guarded : tensor<64x128xf32>, tensor<1x128xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$probs, Tile_ScoreBlock:$gradient, Tile_RowValues:$delta, UnitAttr:$guarded);
  let results = (outs Tile_ScoreBlock:$result);
  let assemblyFormat = [{ $probs `,` $gradient `,` $delta (`guarded` $guarded^)? attr-dict `:` type($probs) `,` type($delta) }];
  let hasVerifier = 1;
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Add a tile to rows of one head of a global tensor of f32";
  let description = [{
    `view[batch, head, row + r, c] += tile[r, c]`; rows at or past dim 2 of the view and columns past its head dim are left alone. Other
    programs may add to the same rows. With `ordered` those of one batch and head do so in ascending order of their blocks,
    so that the sum is the same bits in each run; else in any order, each addition by itself whole (atomic).

    Programs that run side by side keep an order by `turns`, numbers for rows that are 0 before the first of them. The order is then
    that in which they start, from the last block on, and `follows` says whether the block behind this one adds to these rows
    too. Blocks that add to the same rows are a run without a gap.
    ```mlir
    tile.accumulate %dq, %view[%b, %h, %row] ordered : tensor<128x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
    tile.accumulate %dq, %view[%b, %h, %row] ordered turns(%turns : memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>) follows(%before)
        : tensor<128x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$tile, MemRefRankOf<[F32], [4]>:$view, Index:$batch, Index:$head, Index:$row, UnitAttr:$ordered,
                       Optional<MemRefRankOf<[I32], [3]>>:$turns, Optional<I1>:$follows);
  let assemblyFormat = [{ $tile `,` $view `[` $batch `,` $head `,` $row `]` (`ordered` $ordered^)? (`turns` `(` $turns^ `:` type($turns) `)`)?
                          (`follows` `(` $follows^ `)`)? attr-dict `:` type($tile) `,` type($view) }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments, SingleBlock, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Write or add numbers to computed places of a global tensor";
  let description = [{
    For each element of the tiles, the body (as that of `tile.map`) yields whether to write at all (i1), a value of
    `memory`'s element type, and an index for each of its dimensions. `set` writes the value, `add` (f32 only) adds it.
    Other programs may add to the same places, unless `exclusive` says that none does; with `ordered` those of one batch and head do
    so in ascending order of their blocks, else in any order, each addition by itself whole (atomic). Elements of one tile are
    added in ascending order.
    ```mlir
    tile.scatter add ins(%x : tensor<64x128xf32>) at(%j0, %i0) ordered to %sums : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {
    ^bb0(%v: f32, %j: index, %i: index):
      %inside = arith.cmpi slt, %i, %sq : index
      %d = arith.subi %sq, %i : index
      tile.yield %inside, %v, %b, %h, %d : i1, f32, index, index, index
    }
    ```
  }];
  let arguments = (ins Tile_ScatterKind:$kind, Variadic<Tile_Tile>:$inputs, Variadic<Index>:$origin, UnitAttr:$exclusive,
                       UnitAttr:$ordered, AnyMemRef:$memory);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kind `ins` `(` $inputs `:` type($inputs) `)` (`at` `(` $origin^ `)`)? (`exclusive` $exclusive^)?
                          (`ordered` $ordered^)? `to` $memory `:` type($memory) attr-dict-with-keyword $body }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "Fold each row of a tile into one value, starting from init";
  let description = [{
    `result[r] = init[r] op tile[r,0] op tile[r,1] ...`; the order of the fold is not fixed. With `deferred` (add only) the
    machine may keep the result as several parts whose sum it is, until `tile.collect`: between the two, only
    deferred reduces and maps that multiply it by a row factor may touch it, and loops and branches may carry it.
    ```mlir
    %m1 = tile.reduce max %s init(%m) : tensor<64x128xf32>, tensor<64xf32>
    %l1 = tile.reduce add %p init(%l) deferred : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_ScoreBlock:$tile, Tile_Rows:$init, UnitAttr:$deferred);
  let results = (outs Tile_Rows:$result);
  let assemblyFormat = [{ $kind $tile `init` `(` $init `)` (`deferred` $deferred^)? attr-dict `:` type($tile) `,` type($init) }];
  let hasVerifier = 1;
}

def Tile_CollectOp : Tile_Op<"collect", [Pure, SameOperandsAndResultType]> {
  let summary = "The plain value of a deferred sum";
  let description = [{
    ```mlir
    %l = tile.collect %parts : tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_Rows:$parts);
  let results = (outs Tile_Rows:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts)";
}

def Tile_AnyOp : Tile_Op<"any", [Pure]> {
  let summary = "Is the condition true for some row, or some element, of this group of rows?";
  let description = [{
    Rows are worked on in groups (all rows of the tile on the CPU, the rows of one warp on a GPU), and the result may differ
    from group to group. So what it selects between must agree on rows, or elements, whose own condition is false.
    ```mlir
    %c = tile.any %rows : tensor<64xi1>
    ```
  }];
  let arguments = (ins TensorRankOf<[I1], [1, 2]>:$conditions);
  let results = (outs I1:$result);
  let assemblyFormat = "$conditions attr-dict `:` type($conditions)";
}

def Tile_AnyNotFiniteOp : Tile_Op<"any_not_finite", [Pure]> {
  let summary = "May some element of this group of rows be NaN or infinite?";
  let description = [{
    True where an element of the group's rows is NaN or infinite; and perhaps where the sum of finite ones is not. As with
    `tile.any` it may differ from group to group.
    ```mlir
    %c = tile.any_not_finite %o : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$tile);
  let results = (outs I1:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Tile_AnyAboveOp : Tile_Op<"any_above", [Pure]> {
  let summary = "May some score of this group of rows be above its row's limit?";
  let description = [{
    True where some score is above its row's limit. It may also be true where none is (on a GPU it is for limits below zero),
    and, as with `tile.any`, it may differ from group to group: what it guards must be right either way. Whether NaN is above
    a limit is left open. No row's maximum is found, so that this costs half of a `tile.reduce` and no shuffle. With `floor(x)`,
    x < 0, it is also true where some score is below x.
    ```mlir
    %c = tile.any_above %s, %limits : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ScoreBlock:$scores, Tile_Rows:$limits, OptionalAttr<F32Attr>:$floor);
  let results = (outs I1:$result);
  let assemblyFormat = "$scores `,` $limits (`floor` `(` $floor^ `)`)? attr-dict `:` type($scores) `,` type($limits)";
  let hasVerifier = 1;
}

#endif
