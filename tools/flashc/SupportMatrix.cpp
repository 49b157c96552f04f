// flashc --support-matrix.
#include "SupportMatrix.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include <fmt/format.h>
#include <iterator>
#include <utility>
#include <vector>

using namespace flashc;
using mlir::WalkResult;

/// D and Dv of the columns. The last is past the limit, to show what is said.
static constexpr std::pair<int64_t, int64_t> kHeadDims[] = {
    {32, 32},   {64, 64},   {96, 96},   {128, 128},
    {192, 192}, {192, 128}, {256, 256}, {512, 512}};

namespace {
/// Refusals that were met, each once.
struct Refusals {
  std::vector<std::string> texts;
  size_t numberOf(const std::string &text) {
    for (size_t i = 0; i < texts.size(); ++i)
      if (texts[i] == text)
        return i + 1;
    texts.push_back(text);
    return texts.size();
  }
};
} // namespace

static std::string dimsText(std::pair<int64_t, int64_t> dims) {
  return dims.first == dims.second
             ? std::to_string(dims.first)
             : fmt::format("{}/{}", dims.first, dims.second);
}

/// The tiles of the kernel that takes longest; with a star where its warps have
/// roles.
static std::string tilesOf(mlir::ModuleOp module) {
  std::string text;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    tile::ScheduleAttr schedule = kernel.getSchedule();
    bool isMain =
        kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (isMain && text.empty())
      text = fmt::format("{}x{}{}", schedule.getQ(), schedule.getKv(),
                         schedule.getRoles() ? "*" : "");
  }
  return text;
}

static llvm::Expected<std::string> tilesFor(CompileOptions options,
                                            const std::string &dtype,
                                            std::pair<int64_t, int64_t> dims,
                                            mlir::MLIRContext &context) {
  AttentionSpec spec;
  std::tie(spec.headDim, spec.valueHeadDim) = dims;
  spec.dtype = dtype;
  auto module = buildAttnModule(spec, context);
  if (!module)
    return module.takeError();
  auto lowered = lowerTo(**module, options, Stage::Tile);
  if (!lowered)
    return lowered.takeError();
  return tilesOf(*lowered->module);
}

std::string tools::supportMatrix(bool backward, bool deterministic) {
  auto context = makeContext();
  Refusals refusals;
  CompileOptions options;
  options.backward = backward;
  options.deterministic = deterministic;
  std::string text =
      fmt::format("query x key rows of a tile{}, * where warps have roles, or "
                  "the number of a refusal\n\n",
                  backward ? " of gradients" : "");
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<8}{:<7}", "target", "dtype");
  for (auto dims : kHeadDims)
    fmt::format_to(out, "{:<9}", dimsText(dims));
  text += '\n';
  for (llvm::StringRef arch : knownArchs())
    for (const char *dtype : {"f16", "bf16", "f32"}) {
      fmt::format_to(out, "{:<8}{:<7}", arch.str(), dtype);
      for (auto dims : kHeadDims) {
        options.arch = arch.str();
        auto tiles = tilesFor(options, dtype, dims, *context);
        std::string cell = tiles ? *tiles : "";
        if (!tiles)
          cell = fmt::format(
              "({})", refusals.numberOf(llvm::toString(tiles.takeError())));
        fmt::format_to(out, "{:<9}", cell);
      }
      text += '\n';
    }
  text += '\n';
  for (size_t i = 0; i < refusals.texts.size(); ++i)
    fmt::format_to(out, "({}) {}\n", i + 1, refusals.texts[i]);
  return text;
}
