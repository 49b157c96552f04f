// What must hold of the arrays of one run.
#ifndef FLASHC_TOOLS_FLASHC_RUN_CHECKINPUTS_H
#define FLASHC_TOOLS_FLASHC_RUN_CHECKINPUTS_H

#include "Inputs.h"

namespace flashc::tools {

/// An array beside the type of its operand: rank, dtype, static dimensions.
llvm::Error checkType(const NpyArray &array, mlir::RankedTensorType type,
                      const std::string &path, llvm::StringRef what);
/// What the types leave open, between the arrays themselves.
llvm::Error checkTogether(Inputs &inputs, const InputPaths &paths);
/// Key lengths: there if the description has them, one a batch, 0 to Sk.
llvm::Error checkLengths(Inputs &inputs, const std::string &path);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_CHECKINPUTS_H
