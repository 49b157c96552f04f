#ifndef FLASHC_WARP_MEMORY_OPS
#define FLASHC_WARP_MEMORY_OPS

// Between registers and global memory, without a stay in shared memory.

def Warp_LoadValuesOp : Warp_Op<"load_values", [MemoryEffects<[MemRead]>]> {
  let summary = "A value for each row, or for each column, from global memory";
  let description = [{
    Element r of the fragment is `view[batch, head, row + r]`, or 0 at or past dim 2 of the view.
    ```mlir
    %lse = warp.load_values %rows[%b, %h, %row] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> !warp.fragment<1x64xf32, of 128>
    ```
  }];
  let arguments = (ins Warp_RowView:$view, Index:$batch, Index:$head, Index:$row);
  let results = (outs Warp_FragmentType:$fragment);
  let assemblyFormat = "$view `[` $batch `,` $head `,` $row `]` attr-dict `:` qualified(type($view)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Warp_LoadSumsOp : Warp_Op<"load_sums", [MemoryEffects<[MemRead]>]> {
  let summary = "A block of rows of f32 from global memory";
  let description = [{
    Row r of the fragment is `view[batch, head, row + r, :]`; rows and columns outside the view are 0.

    With `fragment_order` the view's rows follow each other, and `row` is a multiple of 16. Where the view's D columns are a multiple of 8 and
    16 rows from a multiple of 16 are inside it, their 16 D elements are not row by row in memory, but 16 x 8 tile by tile, from left to right:
    register r = 2 half + column of lane l of an accumulator is element 32 r + l of its tile. So what the lanes of a warp touch in one
    instruction is 128 bytes in a row. Only for an array that no op reads in another order.

    With `packed` memory is in the order of `warp.send_sums`, in whole blocks of 64 rows, and the fragment is one of these on four warps.
    ```mlir
    %sum = warp.load_sums %sums[%b, %h, %row] fragment_order : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf32>
    ```
  }];
  let arguments = (ins Warp_View:$view, Index:$batch, Index:$head, Index:$row, UnitAttr:$fragment_order, UnitAttr:$packed);
  let results = (outs Warp_FragmentType:$fragment);
  let assemblyFormat = "$view `[` $batch `,` $head `,` $row `]` (`fragment_order` $fragment_order^)? (`packed` $packed^)? attr-dict `:` qualified(type($view)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Warp_StoreSumsOp : Warp_Op<"store_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Write a fragment to 64 rows of sums in packed order in global memory";
  let description = [{
    Memory is in the order of `warp.send_sums`, in whole blocks of 64 rows, and the fragment is one of these on four warps.
    ```mlir
    warp.store_sums %sum to %sums[%b, %h, %row] : !warp.fragment<64x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_View:$view, Index:$batch, Index:$head, Index:$row);
  let assemblyFormat = [{ $fragment `to` $view `[` $batch `,` $head `,` $row `]` attr-dict `:` qualified(type($fragment)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}

def Warp_AddSumsOp : Warp_Op<"add_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Add a fragment to rows of f32 in global memory; rows and columns outside the view are left alone";
  let description = [{
    Other blocks may add to the same rows: each addition by itself is whole (atomic), in any order. `fragment_order` as in `warp.load_sums`.
    ```mlir
    warp.add_sums %sum to %sums[%b, %h, %row] fragment_order : !warp.fragment<64x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins Warp_FragmentType:$fragment, Warp_View:$view, Index:$batch, Index:$head, Index:$row, UnitAttr:$fragment_order);
  let assemblyFormat = [{ $fragment `to` $view `[` $batch `,` $head `,` $row `]` (`fragment_order` $fragment_order^)? attr-dict `:` qualified(type($fragment)) `,` qualified(type($view)) }];
  let hasVerifier = 1;
}

def Warp_ScatterOp : Warp_Op<"scatter", [AttrSizedOperandSegments, SingleBlock, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Write or add numbers to computed places of global memory; as `tile.scatter`";
  let description = [{
    Each element is written by one lane, and of a `partial` input, which is added as it is, each part by its own. Without `exclusive` other blocks, and other elements of this one, may go to the same place:
    each addition by itself is whole (atomic), in any order.
    ```mlir
    warp.scatter add ins(%x : !warp.fragment<128x64xf32>) at(%row, %b) to %flat : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {
    ^bb0(%v: f32, %j: index, %i: index):
      %inside = arith.cmpi slt, %i, %sq : index
      warp.yield %inside, %v, %b, %h, %j : i1, f32, index, index, index
    }
    ```
  }];
  let arguments = (ins Warp_ScatterKind:$kind, Variadic<Warp_FragmentType>:$inputs, Variadic<Index>:$origin, UnitAttr:$exclusive,
                       AnyMemRef:$memory);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kind `ins` `(` $inputs `:` qualified(type($inputs)) `)` (`at` `(` $origin^ `)`)? (`exclusive` $exclusive^)?
                          `to` $memory `:` type($memory) attr-dict-with-keyword $body }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif
