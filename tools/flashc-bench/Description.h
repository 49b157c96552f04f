//===- Description.h - A cell for the compiler and the oracle ---*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_DESCRIPTION_H
#define FLASHC_TOOLS_FLASHC_BENCH_DESCRIPTION_H

#include "Cell.h"

#include "flashc/Compiler/Module.h"
#include "flashc/Reference/Problem.h"

namespace flashc {

/// The cell's attention, with heads, batch and lengths known at run time. A
/// score function that has slopes captures them as f32 of one a head.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildModule(const Cell &cell, mlir::MLIRContext &context);

/// The slopes that the cell's score function captures; empty where it has none.
std::vector<float> getSlopes(const Cell &cell);

/// Mask, scale and score function for the oracle, on arrays that are still
/// empty but have their shapes. The formulas are its own.
llvm::Expected<reference::AttentionProblem> makeProblem(const Cell &cell);

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_DESCRIPTION_H
