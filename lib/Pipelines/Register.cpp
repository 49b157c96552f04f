// The one list of dialects and passes, for the compiler and for every tool.
#include "flashc/Pipelines/Register.h"

#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"
#include "flashc/Dialect/Warp/IR/Warp.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

void flashc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, tile::TileDialect, warp::WarpDialect,
                  mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::NVVM::NVVMDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                  mlir::vector::VectorDialect>();
}

void flashc::registerAllPasses() {
  attn::registerAttnPasses();
  tile::registerTilePasses();
  warp::registerWarpPasses();
  registerConversionPasses();
  mlir::registerTransformsPasses();
  mlir::registerConvertFuncToLLVMPass();
  mlir::registerSCFToControlFlowPass();
  mlir::registerReconcileUnrealizedCastsPass();
}
