// The backward's kernels go through ptxas: they are accepted, and where head
// dims are at most 128 they spill nothing, or with dQ in a loop of its own no
// more than a few addresses.
#include "flashc/Compiler/Compiler.h"
#include "flashc/Compiler/Module.h"
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
  std::string arch = "sm_80";
  int64_t heads = 0;
  /// A score function's body, or empty; a name for it.
  std::string score = "", name = "";
  int64_t valueHeadDim = 0; // as headDim
  /// The type of what the score function captures, whose gradient is wanted
  /// where it has 16 bits.
  std::string capture = "tensor<?xf32>";
};

constexpr const char *kScores[][2] = {
    {"softcap", "%c = arith.constant 0.05 : f32\n"
                "%x = arith.mulf %s, %c : f32\n"
                "%y = math.tanh %x : f32\n"
                "%u = arith.constant 20.0 : f32\n"
                "%r = arith.mulf %y, %u : f32\n"},
    {"alibi", "%d = arith.subi %j, %i : index\n"
              "%n = arith.index_cast %d : index to i32\n"
              "%f = arith.sitofp %n : i32 to f32\n"
              "%m = tensor.extract %t0[%h] : tensor<?xf32>\n"
              "%r = math.fma %m, %f, %s : f32\n"}};

/// Learned biases of 16 bits, with a number for each head and with one for all.
constexpr const char *kBiases[][3] = {{"head-bias", "tensor<?x?x?x{0}>",
                                       "%e = tensor.extract %t0[%h, %i, %j] : "
                                       "tensor<?x?x?x{0}>\n"
                                       "%x = arith.extf %e : {0} to f32\n"
                                       "%r = arith.addf %s, %x : f32\n"},
                                      {"bias", "tensor<?x?x{0}>",
                                       "%e = tensor.extract %t0[%i, %j] : "
                                       "tensor<?x?x{0}>\n"
                                       "%x = arith.extf %e : {0} to f32\n"
                                       "%r = arith.addf %s, %x : f32\n"}};

/// Stored and loaded, of addresses that are read once for each block.
constexpr int64_t kFewBytes = 96;
/// The same of the last kernel beside one with roles, in its second way alone:
/// it has few registers, so that several blocks of it wait for memory together.
/// Head dim 112 has most.
constexpr int64_t kSecondWayBytes = 192;
/// With longer rows two blocks are side by side, and a thread has all
/// registers.
constexpr int64_t kLongSecondWayBytes = 960;

/// Sums in order where groups share the results: of addresses, in the reducer.
constexpr int64_t kLongOrderedBytes = 16;

/// Of the kernel with mma.sync beside, which has all registers; where heads
/// share the bias it needs fewer.
constexpr int64_t kGatherBytes = 128;

int64_t mostBytes(const Cell &cell, llvm::StringRef kernel) {
  if (cell.arch != "sm_90a")
    return cell.deterministic ? kFewBytes : 0;
  bool isLong = cell.headDim > 128;
  if (kernel.ends_with("_dq"))
    return isLong ? kLongSecondWayBytes : kSecondWayBytes;
  // The kernel beside that sums up a bias which is not finite, or of other
  // sizes.
  if (kernel.ends_with("_dcapture0"))
    return kGatherBytes;
  return isLong && cell.deterministic ? kLongOrderedBytes : 0;
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
withScore(const Cell &cell, mlir::MLIRContext &context) {
  std::string q = fmt::format("tensor<?x?x?x{}x{}>", cell.headDim, cell.dtype);
  std::string mask = cell.mask == "none" ? "" : " mask(#attn.causal)";
  return parseModule(
      fmt::format("func.func @attention(%q: {0}, %k: {0}, %v: {0}, %t: "
                  "{3}) -> ({0}, tensor<?x?x?xf32>) {{\n"
                  "%o, %l = attn.forward %q, %k, %v captures(%t : "
                  "{3}){1} : {0}, {0}, {0} -> ({0}, "
                  "tensor<?x?x?xf32>) {{\n^bb0(%s: f32, %b: index, %h: index, "
                  "%i: index, %j: index, %t0: {3}):\n{2}"
                  "attn.yield %r : f32\n}}\nreturn %o, %l : {0}, "
                  "tensor<?x?x?xf32>\n}}\n",
                  q, mask, cell.score, cell.capture),
      cell.name, context);
}

llvm::Expected<ProgramImage> compile(const Cell &cell,
                                     const Assembler &assembler) {
  auto context = makeContext();
  AttentionSpec spec;
  spec.headDim = spec.valueHeadDim = cell.headDim;
  if (cell.valueHeadDim)
    spec.valueHeadDim = cell.valueHeadDim;
  spec.dtype = cell.dtype;
  spec.mask = cell.mask;
  spec.heads = spec.kvHeads = cell.heads;
  auto module = cell.score.empty() ? buildAttnModule(spec, *context)
                                   : withScore(cell, *context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = cell.arch;
  options.backward = true;
  options.deterministic = cell.deterministic;
  if (cell.capture != Cell().capture)
    options.gradients = {0};
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
  for (int64_t dim : {16, 32, 48, 80, 112})
    cells.push_back({"f16", "causal", dim, false, "sm_90a"});
  for (int64_t dim : {64, 96, 128})
    for (const char *mask : {"none", "causal"})
      cells.push_back({"f16", mask, dim, true, "sm_90a"});
  for (auto [name, score] : kScores)
    for (int64_t dim : {64, 96, 128})
      cells.push_back(
          {"f16", "causal", dim, false, "sm_90a", /*heads=*/0, score, name});
  for (int64_t dim : {64, 96, 128})
    for (const char *mask : {"none", "causal", "window(100,50)"})
      for (const char *dtype : {"f16", "bf16"})
        cells.push_back({dtype, mask, dim, false, "sm_90a",
                         /*heads=*/*dtype == 'f' ? 0 : 21});
  // Where groups share the results.
  for (auto [dim, valueDim] :
       {std::pair<int64_t, int64_t>{256, 256}, {192, 128}})
    for (const char *mask : {"none", "causal", "window(100,50)"})
      for (const char *dtype : {"f16", "bf16"})
        cells.push_back({dtype, mask, dim, false, "sm_90a", /*heads=*/0,
                         /*score=*/"", /*name=*/"", valueDim});
  for (int64_t dim : {160, 224})
    for (bool deterministic : {false, true})
      cells.push_back({"f16", "causal", dim, deterministic, "sm_90a"});
  for (auto [name, score] : kScores)
    cells.push_back(
        {"f16", "causal", 256, false, "sm_90a", /*heads=*/0, score, name});
  for (auto [name, capture, score] : kBiases)
    for (const char *dtype : {"f16", "bf16"})
      for (int64_t dim : {64, 96, 128, 192, 256})
        cells.push_back(
            {dtype, dim == 96 ? "causal" : "none", dim, false, "sm_90a",
             /*heads=*/0, fmt::format(fmt::runtime(score), dtype), name,
             /*valueHeadDim=*/0, fmt::format(fmt::runtime(capture), dtype)});
  for (const Cell &cell : cells) {
    auto program = compile(cell, *ptxas);
    if (!program)
      FAIL(llvm::toString(program.takeError()));
    for (const KernelImage &kernel : program->kernels) {
      std::string name =
          fmt::format("{} {} d{} {} {} {}", cell.arch, cell.dtype, cell.headDim,
                      cell.mask, cell.name, kernel.name);
      CAPTURE(name);
      CHECK_FALSE(kernel.cubin.empty());
      if (cell.headDim <= 128 || cell.arch == "sm_90a")
        CHECK(kernel.manifest.spillBytes <= mostBytes(cell, kernel.name));
      fmt::print("figure: {}: {} registers, {} spilled bytes\n", name,
                 kernel.manifest.registers, kernel.manifest.spillBytes);
    }
  }
}
