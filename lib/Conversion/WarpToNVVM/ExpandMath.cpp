// expand-math: right after convert-warp-to-nvvm. There is no device math
// library in the pipeline, so what neither the chip nor LLVM knows is written
// out.
#include "flashc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_EXPANDMATH
#include "Conversion/ConversionPasses.h.inc"

// Ops that LLVM's NVPTX backend selects instructions for.
static bool isNative(Operation *op) {
  // tanh.approx.f32, to 2^-11, where that will do.
  if (auto tanh = dyn_cast<math::TanhOp>(op))
    return tanh.getType().isF32() &&
           arith::bitEnumContainsAny(tanh.getFastmath(),
                                     arith::FastMathFlags::afn);
  return isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::FloorOp,
             math::CeilOp, math::TruncOp, math::RoundEvenOp, math::CopySignOp,
             math::AbsIOp>(op);
}

namespace {
struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) && !isNative(op))
        work.push_back(op);
    });
    // Rewriting touches a whole kernel; most have nothing to expand.
    if (work.empty())
      return;
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(patterns);
    populateMathPolynomialApproximationPatterns(patterns,
                                                [](StringRef) { return true; });
    (void)applyOpPatternsGreedily(
        work, std::move(patterns),
        GreedyRewriteConfig().setStrictness(
            GreedyRewriteStrictness::ExistingAndNewOps));
    getOperation().walk([&](Operation *op) {
      if (!isa<math::MathDialect>(op->getDialect()) || isNative(op))
        return;
      op->emitError() << "'" << op->getName()
                      << "' has no form on the GPU; write it with arith ops "
                         "or run the kernel on the cpu target";
      signalPassFailure();
    });
  }
};
} // namespace
} // namespace flashc
