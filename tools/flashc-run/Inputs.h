// Arrays and description of one run, read and checked against each other.
#ifndef FLASHC_TOOLS_FLASHC_RUN_INPUTS_H
#define FLASHC_TOOLS_FLASHC_RUN_INPUTS_H

#include "flashc/Compiler/Module.h"
#include "flashc/Support/Npy.h"

#include <array>

namespace flashc::tools {

/// Paths from the command line; empty: not given.
struct InputPaths {
  std::string query, key, value, lengths;
  /// Name and path.
  std::vector<std::pair<std::string, std::string>> captures;
};

/// A 4-D array in the order batch, head, length, head dim, whatever its layout.
struct View {
  std::array<int64_t, 4> shape{}, strides{};
};
/// The view of a dense array of `shape`, which is in the order of `layout`.
View viewOf(llvm::ArrayRef<int64_t> shape, attn::Layout layout);

/// Everything that a run reads. All shapes and types fit each other and the
/// description; key lengths are between 0 and Sk.
struct Inputs {
  NpyArray query, key, value;
  std::optional<NpyArray> lengths;
  /// In the order of the op.
  std::vector<NpyArray> captures;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  AttnFunction attention;

  attn::Layout layout() { return attention.forward.getLayout(); }
  View queryView() { return viewOf(query.shape, layout()); }
  View keyView() { return viewOf(key.shape, layout()); }
  View valueView() { return viewOf(value.shape, layout()); }
  /// Zero-filled arrays for the results.
  NpyArray makeOutput();
  NpyArray makeLse();
};

/// Read the arrays and the description (the input file, or flags and what the
/// arrays tell). The first thing that does not fit is the error.
llvm::Expected<Inputs> readInputs(const InputPaths &paths,
                                  mlir::MLIRContext &context);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_INPUTS_H
