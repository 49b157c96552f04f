// Ops of kernels whose warps have roles (Hopper): included by WarpOps.td.

def Warp_RoleKind : I32EnumAttr<"RoleKind", "what the warps of a role do", [
    I32EnumAttrCase<"Producer", 0, "producer">, I32EnumAttrCase<"Consumer", 1, "consumer">,
    I32EnumAttrCase<"Reducer", 2, "reducer">]> {
  let cppNamespace = "::flashc::warp";
}

def Warp_RoleOp : Warp_Op<"role", [SingleBlock, NoTerminator, HasParent<"KernelOp">, RecursiveMemoryEffects]> {
  let summary = "What the loading warp, or the warpgroups that compute, run";
  let description = [{
    `registers` is the budget of a thread of the role (setmaxnreg). Nothing but the kernel's arguments, its rings and
    buffers, and constants may be used from outside, since other warps have other registers. A kernel has one consumer, or one for
    each `group` (then each of these has all rows of a tile, and results of its own), and one
    producer or one reducer: a warpgroup beside the groups that multiplies what they write into rings, adds up the products in
    global memory, and whose first thread also does what a producer does. The registers of the one, and of each group of the
    other, are together at most what the block was launched with, (groups + 1) times the largest multiple of 8 that a
    multiprocessor's 65536 registers give to each thread.
    ```mlir
    warp.role producer registers(24) {
    }
    ```
  }];
  let arguments = (ins Warp_RoleKind:$kind, I64Attr:$registers, OptionalAttr<I64Attr>:$group);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind (`group` `(` $group^ `)`)? `registers` `(` $registers `)` attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Warp_TilesOp : Warp_Op<"tiles", [SingleBlock, HasParent<"RoleOp">, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"EndTileOp">, AllTypesMatch<["inits", "results"]>]> {
  let summary = "For each tile that this block gets: batch, query head and query block";
  let description = [{
    The blocks of the grid are as many as the chip holds at once; the producer draws tile after tile from a counter in global
    memory and hands it to the consumers through the kernel's queue, so that both roles see the same tiles in the same order. With
    `longest_first` the query blocks come from the last to the first, for as many heads together as keep their keys in the L2
    cache. Values can be carried from tile to tile.
    ```mlir
    %r = warp.tiles longest_first inits(%zero : i32) -> i32 {
    ^bb0(%b: index, %h: index, %i: index, %stage: i32):
      warp.end_tile %stage : i32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inits, UnitAttr:$longest_first);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ (`longest_first` $longest_first^)? (`inits` `(` $inits^ `:` type($inits) `)` `->` type($results))?
                          attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}

def Warp_EndTileOp : Warp_Op<"end_tile", [Pure, Terminator, HasParent<"TilesOp">]> {
  let summary = "The values carried to the next tile";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Warp_GroupOp : Warp_Op<"group", [Pure]> {
  let summary = "The number of this warpgroup among those that compute, from 0";
  let description = [{
    Consumer only. The same in all threads of a warpgroup.
    ```mlir
    %g = warp.group
    ```
  }];
  let results = (outs Index:$group);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Warp_RingOp : Warp_Op<"ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A ring of slots in shared memory, from one role to others";
  let description = [{
    A slot is full when the bytes of its copy have arrived, and empty again when each warp that reads it has released it: all
    consumer warps, or, with parts, the four of the part's group. `offset` and `barriers`, both in bytes, are
    set by `warp-allocate-shared`.
    ```mlir
    %kr = warp.ring offset(32768) barriers(212992) : !warp.ring<176x128xf16, 64, depth = 2>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$barriers);
  let results = (outs Warp_RingType:$ring);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? (`barriers` `(` $barriers^ `)`)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Warp_SendOp : Warp_Op<"send", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Wait for an empty slot and start the copy of a block of rows into it (TMA)";
  let description = [{
    Producer, or the first thread of the reducer. Row r of the slot is `view[batch, head, row + r, :]`; rows outside the view and
    columns past its head dim arrive as zero and count as bytes that arrive. Each part waits for its own barrier and is a copy of
    its own. `at` is set by `warp-assign-stages`. With `values` the numbers `rows[batch, head, row + i]` come beside the rows: all that the ring
    has room for are there. A send may stand under an `scf.if` that says whether there is another block:
    behind the last one nothing is sent.
    ```mlir
    warp.send %view[%b, %h, %row] to %kr at(%stage, %phase) : memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.ring<176x128xf16, 64, depth = 2>
    ```
  }];
  let arguments = (ins Warp_View:$view, Index:$batch, Index:$head, Index:$row, Optional<Warp_RowView>:$values, Warp_RingType:$ring,
                       Optional<I32>:$stage, Optional<I32>:$phase);
  let assemblyFormat = [{ $view `[` $batch `,` $head `,` $row `]` (`values` `(` $values^ `:` qualified(type($values)) `)`)? `to` $ring
                          (`at` `(` $stage^ `,` $phase `)`)? attr-dict `:`
                          qualified(type($view)) `,` qualified(type($ring)) }];
  let hasVerifier = 1;
}

def Warp_ReceiveOp : Warp_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Wait for the ring's next slot to be full, and name it";
  let description = [{
    Consumer or reducer. The buffer may be read until it is released. A group receives its part of a slot, the reducer all parts.
    ```mlir
    %k = warp.receive %kr at(%stage, %phase) : !warp.ring<176x128xf16, 64, depth = 2> -> !warp.buffer<176x128xf16, 64>
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, Optional<I32>:$stage, Optional<I32>:$phase);
  let results = (outs Warp_BufferType:$buffer);
  let assemblyFormat = "$ring (`at` `(` $stage^ `,` $phase `)`)? attr-dict `:` qualified(type($ring)) `->` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_ReadValuesOp : Warp_Op<"read_values", [MemoryEffects<[MemRead]>]> {
  let summary = "The values beside a received slot's rows, one for each column of a tile";
  let description = [{
    ```mlir
    %lse = warp.read_values %rows : !warp.buffer<64x128xf16, 64> -> !warp.fragment<1x64xf32, of 128>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer);
  let results = (outs Warp_FragmentType:$fragment);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Warp_SkipOp : Warp_Op<"skip", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Wait for the ring's next slot to be full, and give it back unread: it holds a block for other groups";
  let description = [{
    Consumer only. In a loop of skips a group takes the blocks that the producer sends in other loops, so all its loops
    together have as many trips as the producer's.
    ```mlir
    warp.skip %kr at(%stage, %phase) : !warp.ring<176x128xf16, 64, depth = 2>
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, Optional<I32>:$stage, Optional<I32>:$phase);
  let assemblyFormat = "$ring (`at` `(` $stage^ `,` $phase `)`)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Warp_ClearRowsOp : Warp_Op<"clear_rows", [MemoryEffects<[MemWrite]>]> {
  let summary = "Zero the rows of a received slot from row `first` on, for what the products read next";
  let description = [{
    Rows of V past a batch's key length are copied as they are, and a weight of zero does not undo a NaN. Each group clears
    them for itself, all with the same zeros; nothing happens where `first` is past the last row.
    ```mlir
    warp.clear_rows %v from %first : !warp.buffer<176x128xf16, 64>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer, Index:$first);
  let assemblyFormat = "$buffer `from` $first attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_ReleaseOp : Warp_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "This warp no longer reads a received slot";
  let description = [{
    A loop may carry the buffer from one iteration to the next.
    ```mlir
    warp.release %k : !warp.buffer<176x128xf16, 64>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_AcquireOp : Warp_Op<"acquire", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Wait for the group's part of the ring's next slot to be empty, and name the slot";
  let description = [{
    Consumer only, of a ring that the reducer receives, with a part for each group, or that another group does, where each has a role.
    The group writes its part with `warp.store` and hands it over with `warp.commit`.
    ```mlir
    %ds = warp.acquire %dsr at(%stage, %phase) : !warp.ring<128x64xf16, 64, depth = 2, parts = 2> -> !warp.buffer<128x64xf16, 64, parts = 2>
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, Optional<I32>:$stage, Optional<I32>:$phase);
  let results = (outs Warp_BufferType:$buffer);
  let assemblyFormat = "$ring (`at` `(` $stage^ `,` $phase `)`)? attr-dict `:` qualified(type($ring)) `->` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_CommitOp : Warp_Op<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The group's part of an acquired slot is written: its readers may read it, tensor cores among them";
  let description = [{
    ```mlir
    warp.commit %ds : !warp.buffer<128x64xf16, 64, parts = 2>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_ReclaimOp : Warp_Op<"reclaim", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait until the one block that was sent through a ring of one slot is given back by all, and name the slot";
  let description = [{
    Consumer only, of a ring with a part for each of the role's groups: from here on the bytes of the group's part are its own.
    One `warp.emit` may copy out of them.
    ```mlir
    %room = warp.reclaim %kr : !warp.ring<64x256xf16, 64, depth = 1> -> !warp.buffer<64x256xf16, 64>
    ```
  }];
  let arguments = (ins Warp_RingType:$ring);
  let results = (outs Warp_BufferType:$buffer);
  let assemblyFormat = "$ring attr-dict `:` qualified(type($ring)) `->` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_AdvanceOp : Warp_Op<"advance", [Pure]> {
  let summary = "Stage and phase of a ring's next slot: the stage counts up to the depth, the phase flips where it wraps";
  let description = [{
    ```mlir
    %s1, %p1 = warp.advance %stage, %phase depth(2)
    ```
  }];
  let arguments = (ins I32:$stage, I32:$phase, I64Attr:$depth);
  let results = (outs I32:$nextStage, I32:$nextPhase);
  let assemblyFormat = "$stage `,` $phase `depth` `(` $depth `)` attr-dict";
}

def Warp_WgmmaOp : Warp_Op<"wgmma", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Start acc + A B (A B^T with transpose_b) on a warpgroup's tensor core, as one group";
  let description = [{
    A is 64 rows a group, in registers or shared; B is shared. Without `acc` the sum starts at zero. The result may not be touched,
    nor a slot that is read be released, before a `warp.settle` that covers this group. `depth` is K, at most the columns of A.
    In the reducer, which is one warpgroup, the result has 64 rows and A and B may have parts, all of which are read; with `transpose_a`
    (A^T B, A shared) K is the rows of A, and the result is the part of the product from `origin` (row, column) on.
    ```mlir
    %s = warp.wgmma %q, %k transpose_b depth(128) : !warp.buffer<128x128xf16, 64, parts = 2>, !warp.buffer<176x128xf16, 64> -> !warp.fragment<128x176xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Warp_FragmentType, Warp_BufferType]>:$lhs, Warp_BufferType:$rhs, Optional<Warp_FragmentType>:$acc,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b, I64Attr:$depth, OptionalAttr<DenseI64ArrayAttr>:$origin);
  let results = (outs Warp_FragmentType:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc,
                                 "bool":$transposeB, "int64_t":$depth), [{
    build($_builder, $_state, result, lhs, rhs, acc, /*transpose_a=*/false, transposeB, depth, ::mlir::DenseI64ArrayAttr());
  }]>];
  let assemblyFormat = [{ $lhs `,` $rhs (`acc` `(` $acc^ `:` qualified(type($acc)) `)`)? (`transpose_a` $transpose_a^)?
                          (`transpose_b` $transpose_b^)? `depth` `(` $depth `)` (`origin` `(` $origin^ `)`)? attr-dict
                          `:` qualified(type($lhs)) `,` qualified(type($rhs)) `->` qualified(type($result)) }];
  let hasVerifier = 1;
}

def Warp_SettleOp : Warp_Op<"settle", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["inputs", "results"]>]> {
  let summary = "Wait until at most `pending` of this warpgroup's products are under way";
  let description = [{
    The results are the operands, which may be touched from here on. Placed by `warp-place-settles`.
    ```mlir
    %s1 = warp.settle %s pending(1) : !warp.fragment<128x176xf32>
    ```
  }];
  let arguments = (ins Variadic<Warp_FragmentType>:$inputs, I64Attr:$pending);
  let results = (outs Variadic<Warp_FragmentType>:$results);
  let assemblyFormat = "$inputs `pending` `(` $pending `)` attr-dict `:` qualified(type($results))";
  let hasVerifier = 1;
}

def Warp_AwaitTurnOp : Warp_Op<"await_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait until the warpgroup before this one has passed its turn on the tensor cores";
  let description = [{
    Group 0 has the first turn. Placed by `warp-order-groups`.
    ```mlir
    warp.await_turn
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_PassTurnOp : Warp_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Hand the turn on the tensor cores to the next warpgroup";
  let description = [{
    ```mlir
    warp.pass_turn
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_EmitOp : Warp_Op<"emit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "A fragment through shared memory to global memory (stmatrix, TMA), each warpgroup its own part";
  let description = [{
    Rows and columns outside the view are not written. The buffer, with a part for each group, may be used again when this op is past,
    but for a reclaimed one, whose bytes are read until the role ends.
    ```mlir
    warp.emit %o via %buf to %view[%b, %h, %row] : !warp.fragment<128x128xf16>, !warp.buffer<128x128xf16, 64, parts = 2>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_BufferType:$buffer, Warp_View:$view, Index:$batch, Index:$head, Index:$row);
  let assemblyFormat = [{ $fragment `via` $buffer `to` $view `[` $batch `,` $head `,` $row `]` attr-dict `:` qualified(type($fragment)) `,`
                          qualified(type($buffer)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}

def Warp_AliasOp : Warp_Op<"alias", [Pure]> {
  let summary = "The bytes of a buffer as a buffer of another, not larger, shape";
  let description = [{
    Each part begins where the buffer's part does.
    ```mlir
    %ob = warp.alias %q : !warp.buffer<128x192xf16, 64, parts = 2> -> !warp.buffer<128x128xf16, 64, parts = 2>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer);
  let results = (outs Warp_BufferType:$result);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_FetchOp : Warp_Op<"fetch", [MemoryEffects<[MemRead]>]> {
  let summary = "A block of rows of one head from global memory to a fragment, element by element";
  let description = [{
    Edges as for `warp.channel`. Slow: for tiles that are computed again.
    ```mlir
    %q = warp.fetch %view[%b, %h, %row] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<128x128xf16>
    ```
  }];
  let arguments = (ins Warp_View:$view, Index:$batch, Index:$head, Index:$row, Optional<Index>:$limit);
  let results = (outs Warp_FragmentType:$fragment);
  let assemblyFormat = [{ $view `[` $batch `,` $head `,` $row `]` (`limit` `(` $limit^ `)`)? attr-dict `:` qualified(type($view)) `->`
                          qualified(type($fragment)) }];
  let hasVerifier = 1;
}

def Warp_MmaFetchOp : Warp_Op<"mma_fetch", [MemoryEffects<[MemRead]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "`warp.mma` with B from global memory, element by element: rows `row` on of one head";
  let description = [{
    Each warp by itself. B has K rows, or N with `transpose_b`; edges as for `warp.channel`.
    ```mlir
    %s = warp.mma_fetch %q, %view[%b, %h, %row] acc(%zero) transpose_b : !warp.fragment<128x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<128x16xf32>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$lhs, Warp_View:$view, Index:$batch, Index:$head, Index:$row, Warp_FragmentType:$acc,
                       Optional<Index>:$limit, UnitAttr:$transpose_b, UnitAttr:$guarded);
  let results = (outs Warp_FragmentType:$result);
  let assemblyFormat = [{ $lhs `,` $view `[` $batch `,` $head `,` $row `]` (`limit` `(` $limit^ `)`)? `acc` `(` $acc `)`
                          (`transpose_b` $transpose_b^)? (`guarded` $guarded^)? attr-dict `:` qualified(type($lhs)) `,`
                          qualified(type($view)) `->` qualified(type($result)) }];
  let hasVerifier = 1;
}

def Warp_StagingOp : Warp_Op<"staging", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Room in shared memory for sums of the reducer on their way to global memory";
  let description = [{
    Its byte offset is set by `warp-allocate-shared`.
    ```mlir
    %room = warp.staging offset(196608) : !warp.staging<64x64xf32, depth = 2>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Warp_StagingType:$staging);
  let assemblyFormat = "(`offset` `(` $offset^ `)`)? attr-dict `:` qualified(type($staging))";
  let hasVerifier = 1;
}

def Warp_StageSumsOp : Warp_Op<"stage_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Write a fragment to a slot of the staging room, each warp its own part, in the order of its registers";
  let description = [{
    Reducer only. Slots take turns: the copies out of all other slots may be under way, those out of this one are waited for.
    ```mlir
    warp.stage_sums %dq to %room slot(0) : !warp.fragment<64x64xf32>, !warp.staging<64x64xf32, depth = 2>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_StagingType:$staging, I64Attr:$slot);
  let assemblyFormat = "$fragment `to` $staging `slot` `(` $slot `)` attr-dict `:` qualified(type($fragment)) `,` qualified(type($staging))";
  let hasVerifier = 1;
}

def Warp_BeginSumsOp : Warp_Op<"begin_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait for this block's turn to add to sums of a pair of blocks";
  let description = [{
    Reducer only, in front of the first `warp.send_sums`, or `warp.add_packed`, to the pair's rows, of which `row` is the first. Blocks have their turns
    from the last one on. `turns` has a number for each row, of which a warp uses that of the first of its own 16: that of the block whose
    turn was last, plus 1. If `follows`, that of the block behind this one is waited for, which has number `number`.
    ```mlir
    warp.begin_sums %turns[%b, %h, %row] number(%n) follows(%some) : memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_TurnsView:$turns, Index:$batch, Index:$head, Index:$row, Index:$number, I1:$follows);
  let assemblyFormat = [{ $turns `[` $batch `,` $head `,` $row `]` `number` `(` $number `)` `follows` `(` $follows `)` attr-dict
                          `:` qualified(type($turns)) }];
}

def Warp_EndSumsOp : Warp_Op<"end_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "End this block's turn to add to sums of a pair of blocks";
  let description = [{
    Reducer only, behind all `warp.send_sums`, or `warp.add_packed`, to the pair's rows, whose additions it waits for.
    ```mlir
    warp.end_sums %turns[%b, %h, %row] number(%n) : memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_TurnsView:$turns, Index:$batch, Index:$head, Index:$row, Index:$number);
  let assemblyFormat = [{ $turns `[` $batch `,` $head `,` $row `]` `number` `(` $number `)` attr-dict `:` qualified(type($turns)) }];
}

def Warp_AddPackedOp : Warp_Op<"add_packed", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Add a fragment to sums in global memory in packed order, four elements of a lane at a time";
  let description = [{
    In a reducer or a consumer. The fragment has 64 rows for each of the role's groups, from `row` on, of which `row` is a multiple, and the columns
    from `first` on. Memory, and what other blocks may do meanwhile, are as for `warp.send_sums`.
    ```mlir
    warp.add_packed %dq to %sums[%b, %h, %row] first(64) : !warp.fragment<64x64xf32>, memref<?x?x?x256xf32, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_View:$view, Index:$batch, Index:$head, Index:$row, I64Attr:$first);
  let assemblyFormat = [{ $fragment `to` $view `[` $batch `,` $head `,` $row `]` `first` `(` $first `)` attr-dict
                          `:` qualified(type($fragment)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}

def Warp_SendSumsOp : Warp_Op<"send_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Start the additions of a staged tile to sums in global memory (reducing bulk copies)";
  let description = [{
    Reducer only. The tile is `columns` wide and 64 rows from `row` on, of which `row` is a multiple. The view's memory is in packed order: for each 64
    rows of D columns, for each 16 rows, for each 8 columns, four elements of each lane as a fragment has them, so that a warp's
    part is one run of bytes, and dense. Other blocks may add to the same place: each addition by itself is whole, in any order.
    ```mlir
    warp.send_sums %room slot(0) to %sums[%b, %h, %row] columns(0, 64) : !warp.staging<64x64xf32, depth = 2>, memref<?x?x?x128xf32, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_StagingType:$staging, I64Attr:$slot, Warp_View:$view, Index:$batch, Index:$head, Index:$row,
                       I64Attr:$first, I64Attr:$count);
  let assemblyFormat = [{ $staging `slot` `(` $slot `)` `to` $view `[` $batch `,` $head `,` $row `]` `columns` `(` $first `,` $count `)` attr-dict
                          `:` qualified(type($staging)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}
