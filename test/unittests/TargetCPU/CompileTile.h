// Tile IR as text to a kernel in memory, and arrays as its arguments.
#ifndef FLASHC_TEST_UNITTESTS_TARGETCPU_COMPILETILE_H
#define FLASHC_TEST_UNITTESTS_TARGETCPU_COMPILETILE_H

#include "flashc/Pipelines/Pipelines.h"
#include "flashc/Pipelines/Register.h"
#include "flashc/Reference/Problem.h"
#include "flashc/Target/CPU.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <stdexcept>
#include <vector>

namespace flashc::test {

/// A kernel, with `bits` of vectors (0: this machine's); throws what failed.
/// With `fromAttn` the text is one level higher; `passes` are run before those
/// of the CPU.
inline std::unique_ptr<CpuKernel>
compileTile(llvm::StringRef text, int64_t bits = 0, bool fromAttn = false,
            std::vector<std::unique_ptr<mlir::Pass>> passes = {}) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    throw std::runtime_error("the text does not parse");
  PipelineOptions options;
  options.arch = "cpu";
  options.vectorBits = bits ? bits : hostVectorBits();
  mlir::PassManager manager(&context);
  if (fromAttn)
    buildTilePipeline(manager, options);
  for (std::unique_ptr<mlir::Pass> &pass : passes)
    manager.addPass(std::move(pass));
  buildCPUPipeline(manager, options);
  if (failed(manager.run(*module)))
    throw std::runtime_error("the pipeline failed");
  auto kernel = CpuKernel::create(*module);
  if (!kernel)
    throw std::runtime_error(llvm::toString(kernel.takeError()));
  return std::move(*kernel);
}

inline CpuArgument argument(const reference::HostTensor &tensor) {
  CpuArgument argument;
  argument.data = const_cast<char *>(tensor.data());
  argument.sizes.assign(tensor.shape.begin(), tensor.shape.end());
  argument.strides.assign(tensor.strides.begin(), tensor.strides.end());
  return argument;
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_TARGETCPU_COMPILETILE_H
