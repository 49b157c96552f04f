// flashc --support-matrix.
#include "SupportMatrix.h"

#include "flashc/Compiler/Compiler.h"

#include <fmt/format.h>
#include <iterator>
#include <utility>
#include <vector>

using namespace flashc;

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

static llvm::Expected<std::string> tilesFor(const std::string &arch,
                                            const std::string &dtype,
                                            std::pair<int64_t, int64_t> dims,
                                            mlir::MLIRContext &context) {
  AttentionSpec spec;
  std::tie(spec.headDim, spec.valueHeadDim) = dims;
  spec.dtype = dtype;
  auto module = buildAttnModule(spec, context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = arch;
  auto lowered = lowerTo(**module, options, Stage::Tile);
  if (!lowered)
    return lowered.takeError();
  return fmt::format("{}x{}", lowered->manifest.qBlock,
                     lowered->manifest.kvBlock);
}

std::string tools::supportMatrix() {
  auto context = makeContext();
  Refusals refusals;
  std::string text =
      "query x key rows of a tile, or the number of a refusal\n\n";
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<8}{:<7}", "target", "dtype");
  for (auto dims : kHeadDims)
    fmt::format_to(out, "{:<9}", dimsText(dims));
  text += '\n';
  for (llvm::StringRef arch : knownArchs())
    for (const char *dtype : {"f16", "bf16", "f32"}) {
      fmt::format_to(out, "{:<8}{:<7}", arch.str(), dtype);
      for (auto dims : kHeadDims) {
        auto tiles = tilesFor(arch.str(), dtype, dims, *context);
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
