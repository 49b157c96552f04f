#ifndef FLASHC_WARP_OPS
#define FLASHC_WARP_OPS

include "Warp/WarpAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Warp_Op<string mnemonic, list<Trait> traits = []> : Op<Warp_Dialect, mnemonic, traits>;
class Warp_Type<string name, string typeMnemonic> : TypeDef<Warp_Dialect, name> { let mnemonic = typeMnemonic; }

def Warp_FragmentType : Warp_Type<"Fragment", "fragment"> {
  let summary = "A tile in registers: !warp.fragment<128x64xf32>; row values: !warp.fragment<128xf32>, !warp.fragment<128xf32, partial>; column values of tiles with 128 rows: !warp.fragment<1x64xf32, of 128>";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "bool":$partial, "int64_t":$of);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType, "bool":$partial), [{
    return $_get($_ctxt, shape, elementType, partial, 0);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;     // rank 1 or 2; rows multiple of 16, columns multiple of 8; f16/bf16/f32/i1; partial only for rank-1 f32
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// A value for each column, with `getOf()` the rows of the tiles whose columns are meant.
    bool isColumns() const { return getOf() != 0; }
    /// Rows that are dealt to the warps.
    int64_t getRows() const { return isColumns() ? getOf() : getShape()[0]; }
  }];
}
def Warp_BufferType : Warp_Type<"Buffer", "buffer"> {
  let summary = "A tile in shared memory: !warp.buffer<64x128xf16, 64>, the last number being the segment in elements; with `parts = 2` its rows are dealt to two warpgroups";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$segment,
                        "int64_t":$parts);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType, "int64_t":$segment), [{
    return $_get($_ctxt, shape, elementType, segment, 1);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;     // rank 2; segment 64, 32 or 16 and divides the columns; rows multiple of 8; 16-bit elements
  let extraClassDeclaration = [{
    int64_t getBytes() const { return getShape()[0] * getShape()[1] * 2; }
    /// Rows of one part; the parts stand one behind the other.
    int64_t getPartRows() const { return getShape()[0] / getParts(); }
  }];
}
def Warp_ChannelType : Warp_Type<"Channel", "channel"> {
  let summary = "A ring of buffers fed from global memory: !warp.channel<64x128xf16, 64, depth = 2>";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$segment, "int64_t":$depth);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The type of one slot.
    BufferType getBufferType() const;
    int64_t getBytes() const { return getShape()[0] * getShape()[1] * 2 * getDepth(); }
  }];
}

def Warp_RingType : Warp_Type<"Ring", "ring"> {
  let summary = "A ring of buffers between roles: !warp.ring<176x128xf16, 64, depth = 2>; each slot has a full and an empty barrier, with `parts = 2` each part of a slot; with `values = 64` it has so many f32 beside its rows";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$segment,
                        "int64_t":$depth, "int64_t":$parts, "int64_t":$values);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The type of one slot.
    BufferType getBufferType() const;
    int64_t getSlotBytes() const { return getShape()[0] * getShape()[1] * 2; }
    /// The values of all slots stand behind the rows of all slots.
    int64_t getValueBytes() const { return 4 * getValues(); }
    int64_t getBytes() const { return (getSlotBytes() + getValueBytes()) * getDepth(); }
    /// Bytes of the barriers: a full and an empty one of 8 bytes for each part of each slot.
    int64_t getBarrierBytes() const { return 16 * getDepth() * getParts(); }
  }];
}

def Warp_StagingType : Warp_Type<"Staging", "staging"> {
  let summary = "Slots for fragments in the order of their registers: !warp.staging<64x64xf32, depth = 2>";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$depth);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;     // 64 rows, columns a multiple of 8, f32
  let extraClassDeclaration = [{
    int64_t getSlotBytes() const { return getShape()[0] * getShape()[1] * 4; }
    int64_t getBytes() const { return getSlotBytes() * getDepth(); }
  }];
}

def Warp_View : MemRefRankOf<[F16, BF16, F32], [4]>;
def Warp_RowView : MemRefRankOf<[F32], [3]>;
def Warp_TurnsView : MemRefRankOf<[I32], [3]>;

def Warp_KernelOp : Warp_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "A kernel as one thread block runs it";
  let description = [{
    Arguments as for `tile.kernel`: argument 0 is Q, and the grid is dims 0 and 1 of Q and ceil(dim 2 of Q / q_block); with `grid`, six
    numbers, batches, heads and rows are each [argument, dimension], or 1 where the argument is -1. `warps` is
    the number of warps of a block that compute, and `warp_rows` the fewest rows of a fragment that one has, 16 (the default) or 32; `shared_bytes` is set by `warp-allocate-shared`. A kernel with `groups` has
    roles: `groups` warpgroups of four warps compute and one more loads (or multiplies, too: a reducer); with `turns` those take turns (`warp-order-groups`). Where
    the roles hold `warp.tiles` its blocks are persistent, and `queue`, the byte offset of the queue through which the loading warp hands out the
    tiles, is set by `warp-allocate-shared`.
    ```mlir
    warp.kernel @fwd(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 128 : i64, warps = 4 : i64} {
      warp.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, I64Attr:$warps, I64Attr:$q_block,
                       OptionalAttr<I64Attr>:$warp_rows,
                       OptionalAttr<I64Attr>:$shared_bytes, OptionalAttr<I64Attr>:$groups, UnitAttr:$turns, OptionalAttr<I64Attr>:$queue,
                       OptionalAttr<DenseI64ArrayAttr>:$grid,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The fewest rows of a fragment that a warp has.
    int64_t getLeastRows() { return getWarpRows().value_or(16); }
    /// All warps of a block: those that compute, and the loading warpgroup.
    int64_t getAllWarps() { return getWarps() + (getGroups() ? 4 : 0); }
    /// Do its roles go through tiles that a queue hands out?
    bool isPersistent();
  }];
}

def Warp_ReturnOp : Warp_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "End of a kernel";
  let description = [{
    ```mlir
    warp.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_ProgramOp : Warp_Op<"program", [Pure]> {
  let summary = "Batch, query head and query block of this thread block";
  let description = [{
    Decoded from a one-dimensional grid, query block fastest; see `tile.program`.
    ```mlir
    %b, %h, %i = warp.program longest_first
    ```
  }];
  let arguments = (ins UnitAttr:$longest_first, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$abreast,
                       UnitAttr:$descending);
  let results = (outs Index:$batch, Index:$head, Index:$block);
  let assemblyFormat = "(`longest_first` $longest_first^)? (`abreast` `(` $abreast^ `)`)? (`descending` $descending^)? attr-dict";
}

def Warp_AllocOp : Warp_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A buffer in shared memory; its byte offset is set by `warp-allocate-shared`";
  let description = [{
    Holds anything until it is written. A loop's iterations share the bytes.
    ```mlir
    %buf = warp.alloc offset(16384) : !warp.buffer<128x64xf16, 64>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Warp_BufferType:$buffer);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_ChannelOp : Warp_Op<"channel", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A ring of buffers that blocks `lo` to `hi` of one head pass through in order";
  let description = [{
    Block j holds rows j*R to (j+1)*R - 1 of the view, R the rows of a slot, in slot (j - lo) mod depth. Rows at or past `limit`
    (default: dim 2 of the view) and columns past its head dim arrive as zero and are not read.
    ```mlir
    %kc = warp.channel %view[%b, %h] blocks(%lo to %hi) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
    ```
  }];
  let arguments = (ins Warp_View:$view, Index:$batch, Index:$head, Index:$lo, Index:$hi, Optional<Index>:$limit,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs Warp_ChannelType:$channel);
  let assemblyFormat = [{ $view `[` $batch `,` $head `]` `blocks` `(` $lo `to` $hi `)` (`limit` `(` $limit^ `)`)?
                          (`offset` `(` $offset^ `)`)? attr-dict `:` qualified(type($view)) `->` qualified(type($channel)) }];
  let hasVerifier = 1;
}

def Warp_PutOp : Warp_Op<"put", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Start the copy of block j into its slot, as one copy group";
  let description = [{
    All threads take part. A block at or past the channel's `hi` is an empty group, so that groups can be counted. The slot must be
    free: a barrier has passed since its last reader.
    ```mlir
    warp.put %kc[%j] : !warp.channel<64x64xf16, 64, depth = 1>
    ```
  }];
  let arguments = (ins Warp_ChannelType:$channel, Index:$block);
  let assemblyFormat = "$channel `[` $block `]` attr-dict `:` qualified(type($channel))";
}

def Warp_GetOp : Warp_Op<"get", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait until block j is in its slot for all warps, and name the slot";
  let description = [{
    Waits until at most `pending` copy groups of this thread are under way, then for the block's barrier. `pending` is set by
    `warp-count-groups`; the `warp.copy_in`s before the get are complete too. Gets that follow each other wait
    together: for the fewest pending, at one barrier. The buffer may be read until the next barrier after which the slot is put again.
    ```mlir
    %k = warp.get %kc[%j] pending(0) : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
    ```
  }];
  let arguments = (ins Warp_ChannelType:$channel, Index:$block, OptionalAttr<I64Attr>:$pending);
  let results = (outs Warp_BufferType:$buffer);
  let assemblyFormat = "$channel `[` $block `]` (`pending` `(` $pending^ `)`)? attr-dict `:` qualified(type($channel)) `->` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_CopyInOp : Warp_Op<"copy_in", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Start the copy of a block of rows from global to shared memory, as one copy group";
  let description = [{
    Row r of the buffer is `view[batch, head, row + r, :]`; edges as for `warp.channel`.
    ```mlir
    warp.copy_in %view[%b, %h, %row] to %buf : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.buffer<128x64xf16, 64>
    ```
  }];
  let arguments = (ins Warp_View:$view, Index:$batch, Index:$head, Index:$row, Optional<Index>:$limit, Warp_BufferType:$buffer);
  let assemblyFormat = [{ $view `[` $batch `,` $head `,` $row `]` (`limit` `(` $limit^ `)`)? `to` $buffer attr-dict `:` qualified(type($view)) `,` qualified(type($buffer)) }];
  let hasVerifier = 1;
}

def Warp_WaitOp : Warp_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait until at most `pending` copy groups are under way, then for the block's barrier";
  let description = [{
    Without `pending`, `warp-count-groups` sets it so that the `warp.copy_in`s before it are complete.
    ```mlir
    warp.wait pending(1)
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$pending);
  let assemblyFormat = "(`pending` `(` $pending^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Warp_BarrierOp : Warp_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "All threads of the block meet; shared memory written before is seen after";
  let description = [{
    ```mlir
    warp.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_CopyOutOp : Warp_Op<"copy_out", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copy a buffer's rows to global memory; rows and columns outside the view are not written";
  let description = [{
    ```mlir
    warp.copy_out %buf to %view[%b, %h, %row] : !warp.buffer<128x64xf16, 64>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer, Warp_View:$view, Index:$batch, Index:$head, Index:$row);
  let assemblyFormat = [{ $buffer `to` $view `[` $batch `,` $head `,` $row `]` attr-dict `:` qualified(type($buffer)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}

def Warp_LoadOp : Warp_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "Shared memory to fragment (ldmatrix)";
  let description = [{
    ```mlir
    %f = warp.load %buf : !warp.buffer<128x64xf16, 64> -> !warp.fragment<128x64xf16>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer);
  let results = (outs Warp_FragmentType:$fragment);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Warp_ScanOp : Warp_Op<"scan", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Is some element of a buffer NaN or infinite? The same answer in all threads";
  let description = [{
    Each thread looks at its share; the answers meet in a barrier of the block.
    ```mlir
    %bad = warp.scan %buf : !warp.buffer<128x64xf16, 64>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer);
  let results = (outs I1:$result);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer))";
}

def Warp_ScrubOp : Warp_Op<"scrub", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Zero what is not finite in B's buffer; rows of acc that give it weight become NaN";
  let description = [{
    For the branch that `warp.scan` asks for, before a product `weights` x `buffer` that serves both branches and is the buffer's
    only other reader. All threads of the block take part; a barrier stands behind the last write.
    ```mlir
    %clean = warp.scrub %weights, %buf acc(%sums) : !warp.fragment<64x128xf16>, !warp.buffer<128x64xf16, 64> -> !warp.fragment<64x64xf32>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$weights, Warp_BufferType:$buffer, Warp_FragmentType:$acc);
  let results = (outs Warp_FragmentType:$result);
  let assemblyFormat = [{ $weights `,` $buffer `acc` `(` $acc `)` attr-dict `:` qualified(type($weights)) `,` qualified(type($buffer)) `->` qualified(type($result)) }];
  let hasVerifier = 1;
}

def Warp_StoreOp : Warp_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Fragment to shared memory, each warp its own rows";
  let description = [{
    ```mlir
    warp.store %f to %buf : !warp.fragment<128x64xf16>, !warp.buffer<128x64xf16, 64>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_BufferType:$buffer);
  let assemblyFormat = "$fragment `to` $buffer attr-dict `:` qualified(type($fragment)) `,` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_StoreRowsOp : Warp_Op<"store_rows", [MemoryEffects<[MemWrite]>]> {
  let summary = "Row values to global memory; rows outside the view are not written";
  let description = [{
    ```mlir
    warp.store_rows %lse to %view[%b, %h, %row] : !warp.fragment<128xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_RowView:$view, Index:$batch, Index:$head, Index:$row);
  let assemblyFormat = [{ $fragment `to` $view `[` $batch `,` $head `,` $row `]` attr-dict `:` qualified(type($fragment)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}

def Warp_FillOp : Warp_Op<"fill", [Pure]> {
  let summary = "A fragment of one constant";
  let description = [{
    A `partial` fragment starts at zero, the only constant whose four parts sum to it.
    ```mlir
    %m = warp.fill 0xFF800000 : f32 -> !warp.fragment<128xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Warp_FragmentType:$fragment);
  let assemblyFormat = "$value attr-dict `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Warp_MmaOp : Warp_Op<"mma", [MemoryEffects<[MemRead]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + A B (A B^T with transpose_b, A^T B with transpose_a): A in registers or shared, B shared, acc in registers";
  let description = [{
    With `guarded` (no `transpose_b`), elements of B that are not finite count as zero, and a row of
    A that gives them weight becomes NaN: slow, for the branch that `warp.scan` asks for. With `transpose_a` A is in shared memory. A in
    registers has 16 rows for each warp at least, so that a warp has whole rows of it.
    ```mlir
    %s = warp.mma %q, %k acc(%zero) transpose_b : !warp.buffer<128x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Warp_FragmentType, Warp_BufferType]>:$lhs, Warp_BufferType:$rhs, Warp_FragmentType:$acc,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b, UnitAttr:$guarded);
  let results = (outs Warp_FragmentType:$result);
  let assemblyFormat = [{ $lhs `,` $rhs `acc` `(` $acc `)` (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`guarded` $guarded^)? attr-dict `:` qualified(type($lhs)) `,` qualified(type($rhs)) `->` qualified(type($result)) }];
  let hasVerifier = 1;
}

def Warp_MapOp : Warp_Op<"map", [AttrSizedOperandSegments, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Apply scalar code to every element of fragments; as `tile.map`";
  let description = [{
    A map on a `partial` input does nothing but multiply it by a row factor, and has one, `partial` result.
    ```mlir
    %r = warp.map ins(%s, %m : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>) at(%i0, %j0) -> !warp.fragment<128x64xf32> {
    ^bb0(%x: f32, %y: f32, %i: index, %j: index):
      %d = arith.subf %x, %y : f32
      warp.yield %d : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Warp_FragmentType>:$inputs, Variadic<Index>:$origin);
  let results = (outs Variadic<Warp_FragmentType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `ins` `(` $inputs `:` qualified(type($inputs)) `)` (`at` `(` $origin^ `)`)? attr-dict `->` qualified(type($results)) $body }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Warp_YieldOp : Warp_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp", "ScatterOp"]>]> {
  let summary = "The scalars that the body of a map or of a scatter computes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` qualified(type($values))";
}

def Warp_ReduceOp : Warp_Op<"reduce", [Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "Fold each row into its row value";
  let description = [{
    With a `partial` init (add only) each lane folds its own columns and no lane talks to another; else the quad's lanes are folded
    too (two shuffles), so that all four have the result.
    ```mlir
    %m1 = warp.reduce max %s init(%m) : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
    ```
  }];
  let arguments = (ins Warp_ReduceKind:$kind, Warp_FragmentType:$fragment, Warp_FragmentType:$init);
  let results = (outs Warp_FragmentType:$result);
  let assemblyFormat = "$kind $fragment `init` `(` $init `)` attr-dict `:` qualified(type($fragment)) `,` qualified(type($init))";
  let hasVerifier = 1;
}

def Warp_CollectOp : Warp_Op<"collect", [Pure]> {
  let summary = "Sum the four parts of a partial row value (two shuffles)";
  let description = [{
    ```mlir
    %l = warp.collect %parts : !warp.fragment<128xf32, partial> -> !warp.fragment<128xf32>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$parts);
  let results = (outs Warp_FragmentType:$result);
  let assemblyFormat = "$parts attr-dict `:` qualified(type($parts)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_AnyOp : Warp_Op<"any", [Pure]> {
  let summary = "Is the condition true for some row, or some element, of this warp? (vote)";
  let description = [{
    The result is the same in all lanes of a warp and may differ from warp to warp, so what it guards must hold no barrier.
    ```mlir
    %c = warp.any %rows : !warp.fragment<128xi1>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$conditions);
  let results = (outs I1:$result);
  let assemblyFormat = "$conditions attr-dict `:` qualified(type($conditions))";
  let hasVerifier = 1;
}

def Warp_AnyNotFiniteOp : Warp_Op<"any_not_finite", [Pure]> {
  let summary = "May some element of this warp be NaN or infinite? (each lane's sum and a vote)";
  let description = [{
    The same in all lanes; may differ from warp to warp, as `warp.any`.
    ```mlir
    %c = warp.any_not_finite %o : !warp.fragment<128x64xf32>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment);
  let results = (outs I1:$result);
  let assemblyFormat = "$fragment attr-dict `:` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Warp_AnyAboveOp : Warp_Op<"any_above", [Pure]> {
  let summary = "May some score of this warp be above its row's limit? (integer maxima and a vote)";
  let description = [{
    True where some score is above its row's limit, and wherever a limit is below zero: the bits of floats from zero on are in
    the order of integers, of which three are compared at once. With `floor(x)`, x < 0, also where some score is below x, since as
    unsigned integers the numbers below zero are the largest, in reverse. The same in all lanes; may differ from warp to warp, as `warp.any`.
    ```mlir
    %c = warp.any_above %s, %limits : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$scores, Warp_FragmentType:$limits, OptionalAttr<F32Attr>:$floor);
  let results = (outs I1:$result);
  let assemblyFormat = "$scores `,` $limits (`floor` `(` $floor^ `)`)? attr-dict `:` qualified(type($scores)) `,` qualified(type($limits))";
  let hasVerifier = 1;
}

include "Warp/WarpMemoryOps.td"
include "Warp/WarpRoleOps.td"

#endif
