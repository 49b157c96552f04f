#ifndef FLASHC_CONVERSION_PASSES
#define FLASHC_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertAttnToTile : Pass<"convert-attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Block attention: one tile.kernel with a loop over all key blocks";
  let description = [{
    A `func.func` that holds one `attn.forward` on its arguments and returns its results becomes a `tile.kernel` on views, outputs
    appended to the arguments: Q, K, V, `kv_lengths`, captures, O, LSE. Tile sizes come from the options; `arch` gives the
    defaults (the pure function `chooseSchedule`), and `schedule` says them all. D and Dv are padded to multiples of 16 columns. The mask becomes a union of
    affine sets, each with the bound `j < key length`; a score function becomes a `tile.map` with the scale in front. Functions
    without attention stay as they are.
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"sm_80\"", "target: cpu, sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a">,
    Option<"sram", "sram", "int64_t", "0", "bytes of on-chip memory of one block; 0: what the target has">,
    Option<"tiles", "tiles", "std::string", "\"auto\"", "auto, paper, or QxK such as 128x64">,
    Option<"stages", "stages", "int64_t", "0", "depth of the K and V rings; 0: chosen">,
    Option<"warps", "warps", "int64_t", "0", "warps of a block; 0: chosen">,
    Option<"alignment", "alignment", "int64_t", "0", "bytes that the views' bases and strides are multiples of; 0: 16">,
    Option<"length", "length", "int64_t", "0", "length of the problems that the schedule is chosen for; 0: 4096">,
    Option<"schedule", "schedule", "std::string", "\"\"", "#tile.schedule<...> to take as it is, if it fits; empty: chosen">];
  let dependentDialects = ["::flashc::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect"];
}

def ConvertTileToWarp : Pass<"convert-tile-to-warp", "::mlir::ModuleOp"> {
  let summary = "Give every tile a place: fragments, swizzled buffers, channels";
  let description = [{
    One `warp.kernel` a `tile.kernel`. Streams become channels (gets only; `warp-place-puts` adds the puts), Q's load a shared buffer and, if
    the schedule says so, a fragment; dots become `warp.mma`, maps and reductions their twins; stores go through
    shared memory.
  }];
  let dependentDialects = ["::flashc::warp::WarpDialect"];
}

def ConvertWarpToNVVM : Pass<"convert-warp-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Threads, registers and instructions";
  let description = [{
    A `warp.kernel` becomes an `llvm.func` with `nvvm.kernel`; a fragment becomes one value a register. Copies are cp.async from
    sm_80 on and load + store on sm_75; products are `mma.sync` m16n8k16 (m16n8k8 on sm_75) fed by ldmatrix.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"", "sm_75, sm_80, sm_86, sm_89, sm_90 or sm_90a">,
                 Option<"alignment", "alignment", "int64_t", "0",
                        "bytes that the views' bases and strides are multiples of; 0: what the head dims allow, at most 16">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def ExpandMath : Pass<"expand-math", "::mlir::ModuleOp"> {
  let summary = "Polynomials for the math functions that the chip has no instruction for";
  let description = [{
    Score functions may use any `math` op on f32. exp, exp2, log and log2 are instructions and gone by now; fma, square root, absolute value
    and roundings are for LLVM; the rest (tanh, sin, erf, pow, ...) becomes arithmetic here. One that has no expansion
    is an error that names it. Runs after `convert-warp-to-nvvm`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def ConvertScalarsToLLVM : Pass<"convert-scalars-to-llvm", "::mlir::ModuleOp"> {
  let summary = "What is left of arith, math and control flow becomes the LLVM dialect";
  let description = [{
    MLIR's own patterns of the three dialects, in one conversion. `index` becomes `i32`: lengths are below 2^31, and addresses
    are `i64` by construction. Runs after `expand-math` and `convert-scf-to-cf`; casts that lead to and fro are left for
    `reconcile-unrealized-casts`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertTileToCPU : Pass<"convert-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Run tile kernels on the CPU: loops and vectors over buffers";
  let description = [{
    A `tile.kernel` becomes a `func.func` whose arguments are the program's (batch, head, block), a scratch area that each
    thread has its own of, and the kernel's. Tiles become buffers in the scratch
    area, updated in place where the old value has no other reader; maps, reductions and dots become loops of vector ops. 16-bit
    tiles are held as f32 whose values are rounded to the 16-bit type. Attribute `tile.cpu_kernel` says how to run it: `q_block`,
    `scratch_bytes`, and the types of the kernel's `arguments`.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "256", "width of a vector register">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def CpuExpandMath : Pass<"cpu-expand-math"> {
  let summary = "Compute exp2, exp and tanh of f32 by polynomials";
  let description = [{
    LLVM has no vector form of these functions and would call libm for each lane. Range reduction and a polynomial are
    within 2 ulp, with the edge cases of libm: -inf gives 0, overflow gives inf, subnormal results are rounded once, NaN
    stays. Other functions and types are left alone. Runs after `convert-tile-to-cpu`, before math goes to LLVM.
    ```mlir
    // Before
    %y = math.exp2 %x : vector<16xf32>
    // After: n = round(x), 2^n * p(x - n)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
