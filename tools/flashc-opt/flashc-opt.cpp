// flashc-opt: run any pass of flashc or MLIR on a file, as mlir-opt does.
#include "flashc/Pipelines/Pipelines.h"
#include "flashc/Pipelines/Register.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  flashc::registerAllDialects(registry);
  flashc::registerAllPasses();
  flashc::registerTilePipeline();
  flashc::registerWarpPipeline();
  flashc::registerNVVMPipeline();
  flashc::registerCPUPipeline();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "flashc optimizer driver\n", registry));
}
