// The kernels and costs of gradients from their manifest, their mask and their
// target: what `flashc --backward --explain` prints. Formulas only.
#include "ExplainText.h"

#include "flashc/Compiler/Explain.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/ranges.h>

using namespace flashc;

namespace {
/// f32 and i32, as workspaces are.
constexpr double kWorkspaceBytes = 4;

/// Its bytes for one problem; none where a captured tensor's size is in it,
/// which nobody knows here.
std::optional<double> bytesOf(const Workspace &workspace,
                              const ProgramSizes &sizes) {
  bool isOfCapture = llvm::any_of(workspace.sizes, [](llvm::StringRef word) {
    return word.starts_with("capture");
  });
  if (isOfCapture)
    return std::nullopt;
  auto shape = workspaceSizes(workspace, sizes);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return std::nullopt;
  }
  double bytes = kWorkspaceBytes;
  for (int64_t size : *shape)
    bytes *= double(size);
  return bytes;
}

std::string describeKernels(const ProgramManifest &program,
                            llvm::ArrayRef<KernelImage> images) {
  std::string text =
      fmt::format("\n{:<36} {:>5} {:>6} {:>8} {:>10} {:>8}\n", "kernel", "rows",
                  "warps", "shared", "registers", "spilled");
  for (auto [i, kernel] : llvm::enumerate(program.kernels)) {
    std::string warps = std::to_string(kernel.warps);
    if (kernel.producerWarps)
      warps += fmt::format("+{}", kernel.producerWarps);
    std::string registers = "-", spilled = "-";
    if (i < images.size() && images[i].manifest.registers >= 0) {
      registers = std::to_string(images[i].manifest.registers);
      spilled = std::to_string(images[i].manifest.spillBytes);
    }
    text +=
        fmt::format("{:<36} {:>5} {:>6} {:>8} {:>10} {:>8}\n", kernel.name,
                    kernel.rows, warps, kernel.sharedBytes, registers, spilled);
  }
  return text;
}
} // namespace

std::string flashc::explainGradients(const ProgramManifest &program,
                                     llvm::ArrayRef<KernelImage> images,
                                     mlir::Attribute mask,
                                     const TargetInfo &target,
                                     const ProblemSize &size) {
  double d = double(program.headDim), dv = double(program.valueHeadDim);
  double pairs = double(countVisible(mask, size.queries, size.keys)) *
                 double(size.batch * size.heads);
  double rows = double(size.batch * size.heads * size.queries);
  double keyRows = double(size.batch * size.kvHeads * size.keys);
  double element = program.dtype == "f32" ? 4 : 2;
  double flops = (6 * d + 4 * dv) * pairs;
  double bytes =
      rows * (2 * (d + dv) * element + 4) + keyRows * 2 * (d + dv) * element;
  std::string text = fmt::format(
      "target       {}\n"
      "gradients    {} {}, head dim {}, value head dim {}, scale {:.6g}, mask "
      "{}{}\n",
      target.arch, program.dtype, program.layout, program.headDim,
      program.valueHeadDim, program.scale, program.mask,
      program.deterministic ? ", the same bits in every run" : "");
  if (!target.isCPU)
    text += describeKernels(program, images);
  text += fmt::format(
      "\nfor batch {}, {} query heads, {} key heads, {} queries, {} keys\n"
      "flops        {} (6 D + 4 Dv for each visible pair)\n"
      "HBM bytes    {}B (Q, K, V, O, dO, LSE, dQ, dK, dV once)\n"
      "intensity    {:.4g} flops a byte\n",
      size.batch, size.heads, size.kvHeads, size.queries, size.keys,
      quantity(flops), quantity(bytes), bytes ? flops / bytes : 0);
  ProgramSizes sizes{
      size.batch, size.heads, size.kvHeads, size.queries, size.keys, {}, {}};
  for (const Workspace &workspace : program.workspaces) {
    std::optional<double> known = bytesOf(workspace, sizes);
    text += fmt::format("workspace    {} {} [{}]{}{}\n", workspace.name,
                        workspace.elementType, fmt::join(workspace.sizes, ", "),
                        known ? fmt::format(": {}B", quantity(*known)) : "",
                        workspace.zeroed ? ", zeros" : "");
  }
  return text;
}
