// flashc-lsp-server: mlir-lsp-server that knows flashc's dialects.
#include "flashc/Pipelines/Register.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  flashc::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
