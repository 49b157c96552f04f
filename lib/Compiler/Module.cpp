// Where attention comes in as text: a verified module on the `attn` level goes
// out. The parser reports through the context; here that becomes one error.
#include "flashc/Compiler/Module.h"
#include "flashc/Compiler/Diagnostics.h"
#include "flashc/Pipelines/Register.h"
#include "flashc/Support/Error.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace flashc;

std::unique_ptr<MLIRContext> flashc::makeContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return context;
}

/// Give each argument its name in the text.
static void nameArguments(ModuleOp module, const AsmParserState &state) {
  module.walk([&](func::FuncOp func) {
    if (func.isExternal())
      return;
    const AsmParserState::BlockDefinition *entry =
        state.getBlockDef(&func.getBody().front());
    for (BlockArgument argument : func.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!entry || i >= entry->arguments.size() ||
          func.getArgAttr(i, kArgumentNameAttr))
        continue;
      llvm::SMRange range = entry->arguments[i].loc;
      if (!range.isValid())
        continue;
      llvm::StringRef name(range.Start.getPointer(),
                           range.End.getPointer() - range.Start.getPointer());
      func.setArgAttr(i, kArgumentNameAttr,
                      StringAttr::get(func.getContext(), name.ltrim('%')));
    }
  });
}

static llvm::Expected<OwningOpRef<ModuleOp>>
parseBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer, MLIRContext &context) {
  std::string name = buffer->getBufferIdentifier().str();
  FirstError errors(&context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  AsmParserState state;
  Block parsed;
  if (failed(
          parseAsmSourceFile(sources, &parsed, ParserConfig(&context), &state)))
    return errors.take(name + " is not an MLIR module; see docs/Dialects for "
                              "the syntax");
  OwningOpRef<ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &parsed, &context, FileLineColLoc::get(&context, name, 1, 1));
  if (!module)
    return errors.take(name + " is not an MLIR module; put its functions in "
                              "one module");
  nameArguments(*module, state);
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> flashc::readModule(llvm::StringRef path,
                                                         MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return makeError("cannot read '{}': {}; give the path of an .mlir file, or "
                     "- for standard input",
                     path.str(), buffer.getError().message());
  return parseBuffer(std::move(*buffer), context);
}

llvm::Expected<OwningOpRef<ModuleOp>>
flashc::parseModule(llvm::StringRef text, llvm::StringRef name,
                    MLIRContext &context) {
  return parseBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), context);
}
