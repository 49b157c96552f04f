// The backward's kernels go through ptxas: they are accepted, and where head
// dims are at most 128 they spill nothing, or with dQ in a loop of its own no
// more than a few addresses.
#include "flashc/Compiler/Compiler.h"
#include "unittests/Assemblers.h"

#include "unittests/Catch.h"

#include <fmt/format.h>

using namespace flashc;
using namespace flashc::test;

namespace {
struct Cell {
  std::string dtype, mask;
  int64_t headDim;
  bool deterministic;
  std::string arch = "sm_80", schedule = "";
  int64_t heads = 0;
};

/// As flashc prints it; what is left out are queries of a block.
constexpr const char *kRoles =
    "#tile.schedule<q = {}, kv = 128, stages = 3, warps = 8, q_in_registers = "
    "false, sram = 232448, roles = <groups = 2, producer = 72, consumer = 216, "
    "overlap = true, turns = false, rescale = always, apart = false, ahead = "
    "false, skip = false>>";
/// Stored and loaded, of addresses that are read once for each block.
constexpr int64_t kFewBytes = 96;

llvm::Expected<ProgramImage> compile(const Cell &cell,
                                     const Assembler &assembler) {
  auto context = makeContext();
  AttentionSpec spec;
  spec.headDim = spec.valueHeadDim = cell.headDim;
  spec.dtype = cell.dtype;
  spec.mask = cell.mask;
  spec.heads = spec.kvHeads = cell.heads;
  auto module = buildAttnModule(spec, *context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = cell.arch;
  options.schedule = cell.schedule;
  options.backward = true;
  options.deterministic = cell.deterministic;
  return compileProgramToGPU(**module, options, &assembler);
}
} // namespace

TEST_CASE("ptxas takes the backward's kernels without spills") {
  std::unique_ptr<Assembler> ptxas = findAssembler();
  if (!ptxas)
    FLASHC_SKIP("no ptxas");
  std::vector<Cell> cells = {
      {"f16", "none", 64, false},    {"f16", "causal", 64, false},
      {"f16", "none", 128, false},   {"f16", "causal", 128, false},
      {"bf16", "causal", 128, true}, {"f16", "causal", 256, false}};
  // With roles; that ptxas serialises no products is an error of Assembler's.
  for (int64_t dim : {64, 96, 128})
    for (const char *mask : {"none", "causal", "window(100,50)"})
      for (const char *dtype : {"f16", "bf16"})
        cells.push_back({dtype, mask, dim, false, "sm_90a",
                         fmt::format(kRoles, dim == 64 ? 128 : 64),
                         /*heads=*/*dtype == 'f' ? 0 : 21});
  for (const Cell &cell : cells) {
    auto program = compile(cell, *ptxas);
    if (!program)
      FAIL(llvm::toString(program.takeError()));
    for (const KernelImage &kernel : program->kernels) {
      std::string name = fmt::format("{} {} d{} {} {}", cell.arch, cell.dtype,
                                     cell.headDim, cell.mask, kernel.name);
      CAPTURE(name);
      CHECK_FALSE(kernel.cubin.empty());
      if (cell.headDim <= 128)
        CHECK(kernel.manifest.spillBytes <=
              (cell.deterministic ? kFewBytes : 0));
      fmt::print("figure: {}: {} registers, {} spilled bytes\n", name,
                 kernel.manifest.registers, kernel.manifest.spillBytes);
    }
  }
}
