// flashc-run --check: the results beside a reference in double.
#ifndef FLASHC_TOOLS_FLASHC_RUN_VERIFY_H
#define FLASHC_TOOLS_FLASHC_RUN_VERIFY_H

#include "Execute.h"

namespace flashc::tools {

/// One line on how far the results are from the reference; an error where they
/// are further than the rule allows.
llvm::Expected<std::string> verifyResults(Inputs &inputs,
                                          const Results &results);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_VERIFY_H
