#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"

using namespace mlir;

namespace flashc::attn {
#define GEN_PASS_DEF_ATTNSIMPLIFYMASK
#include "Attn/AttnPasses.h.inc"

namespace {
struct AttnSimplifyMask : impl::AttnSimplifyMaskBase<AttnSimplifyMask> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc::attn
