// MLIR's diagnostics, collected: between any stage that reports through the
// context and a caller that wants one llvm::Error.
#include "flashc/Compiler/Diagnostics.h"
#include "flashc/Support/Error.h"

#include "mlir/IR/Location.h"

using namespace mlir;
using namespace flashc;

/// `file:line:column: ` of the innermost place with a file; empty if none.
static std::string placeOf(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return fmt::format("{}:{}:{}: ", file.getFilename().getValue().str(),
                       file.getLine(), file.getColumn());
  return "";
}

FirstError::FirstError(MLIRContext *context)
    : ScopedDiagnosticHandler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
            !text.empty())
          return success();
        text = placeOf(diagnostic.getLocation()) + diagnostic.str();
        // "see current operation" prints a whole function; a note of a verifier
        // is a line.
        for (Diagnostic &note : diagnostic.getNotes())
          if (std::string line = note.str(); line.find('\n') == line.npos)
            text += "\n  note: " + placeOf(note.getLocation()) + line;
        return success();
      }) {}

llvm::Error FirstError::take(llvm::StringRef otherwise) {
  return makeError("{}", text.empty() ? otherwise.str() : text);
}
