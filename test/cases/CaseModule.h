// A shared case as the compiler takes it.
#ifndef FLASHC_TEST_CASES_CASEMODULE_H
#define FLASHC_TEST_CASES_CASEMODULE_H

#include "flashc/Compiler/Module.h"
#include "flashc/Reference/Cases.h"

namespace flashc::test {

/// The attn module of a case: its MLIR text where it has one, else its numbers.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
moduleOf(const reference::TestCase &test, mlir::MLIRContext &context);

} // namespace flashc::test

#endif // FLASHC_TEST_CASES_CASEMODULE_H
