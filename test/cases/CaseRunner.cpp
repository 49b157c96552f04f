// From a case to a module and from a result to a verdict: what the tests of all
// targets have in common.
#include "cases/CaseRunner.h"

#include "cases/CaseModule.h"
#include "flashc/Reference/Check.h"

#include <cstring>
#include <fmt/format.h>
#include <limits>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

static AttentionSpec specOf(const TestCase &test) {
  const AttentionProblem &p = test.problem;
  AttentionSpec spec;
  spec.headDim = p.headDim();
  spec.valueHeadDim = p.valueHeadDim();
  if (test.staticHeads) {
    spec.heads = p.heads();
    spec.kvHeads = p.kvHeads();
  }
  spec.dtype = elementName(p.dtype()).str();
  spec.layout = layoutName(p.layout).str();
  spec.scale = p.scale;
  spec.mask = p.mask.text();
  spec.kvLengths = !p.kvLengths.empty();
  spec.withLse = test.withLse;
  return spec;
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
test::moduleOf(const TestCase &test, mlir::MLIRContext &context) {
  if (!test.problem.mlir.empty())
    return parseModule(test.problem.mlir, test.name, context);
  return buildAttnModule(specOf(test), context);
}

static llvm::Expected<KernelImage> compile(const TestCase &test,
                                           const CompileOptions &options,
                                           const Assembler *assembler) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = moduleOf(test, *context);
  if (!module)
    return module.takeError();
  return compileToGPU(**module, options, assembler);
}

CompiledCase test::compileCase(const TestCase &test, const std::string &arch,
                               int64_t alignment, const Assembler *assembler) {
  CompiledCase out;
  CompileOptions options;
  options.arch = arch;
  options.tiles = test.tiles;
  options.alignment = alignment;
  llvm::Expected<KernelImage> image = compile(test, options, assembler);
  if (!image && test.tiles != "auto") {
    out.refusedTiles = llvm::toString(image.takeError());
    options.tiles = "auto";
    image = compile(test, options, assembler);
  }
  if (image)
    out.image = std::move(*image);
  else
    out.error = llvm::toString(image.takeError());
  return out;
}

bool test::namesBudget(llvm::StringRef refusal) {
  return refusal.contains("over") || refusal.contains("more than") ||
         refusal.contains("fit");
}

std::vector<TestCase> test::gpuDraws(uint64_t first, uint64_t count,
                                     DrawOptions options) {
  options.withF32 = false;
  std::vector<TestCase> out;
  for (uint64_t seed = first; seed < first + count; ++seed)
    out.push_back(drawProblem(seed, options));
  return out;
}

std::string test::kernelKey(const TestCase &test) {
  AttentionSpec s = specOf(test);
  return fmt::format("{} {} {} {} {} {} {:a} {} {} {} {} {}", s.headDim,
                     s.valueHeadDim, s.heads, s.kvHeads, s.dtype, s.layout,
                     *s.scale, s.mask, s.kvLengths, s.withLse, test.tiles,
                     test.problem.mlir);
}

Output test::makeOutput(const TestCase &test) {
  const AttentionProblem &p = test.problem;
  Output out;
  out.o = HostTensor::dense(
      p.dtype(), {p.batch(), p.heads(), p.sq(), p.valueHeadDim()}, p.layout);
  std::memset(out.o.storage.data(), 0xff, out.o.storage.size());
  if (test.withLse)
    out.lse.resize(p.batch() * p.heads() * p.sq(),
                   std::numeric_limits<float>::quiet_NaN());
  return out;
}

HostTensor test::denseCopy(const HostTensor &tensor, Layout layout) {
  HostTensor copy = HostTensor::dense(tensor.element, tensor.shape, layout);
  auto [batch, heads, length, dim] = tensor.shape;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < length; ++s)
        for (int64_t d = 0; d < dim; ++d)
          copy.set(b, h, s, d, tensor.get(b, h, s, d));
  return copy;
}

std::string Judge::judge(const TestCase &test, const Output &output) {
  const float *lse = output.lse.empty() ? nullptr : output.lse.data();
  ErrorReport report = checkError(test.problem, output.o, lse);
  if (!report.ok)
    return test.name + ": " + report.why;
  if (report.rmsUnfused > 0)
    worst = std::max(worst, report.rmsError / report.rmsUnfused);
  if (test.expect)
    if (std::string wrong = test.expect(test.problem, output.o, lse);
        !wrong.empty())
      return test.name + ": " + wrong;
  if (!test.sameAs.empty()) {
    auto same = earlier.find(test.sameAs);
    if (same == earlier.end())
      return test.name + ": '" + test.sameAs + "' has not run";
    if (same->second.o.storage != output.o.storage ||
        same->second.lse != output.lse)
      return test.name + ": differs from '" + test.sameAs + "'";
  }
  earlier.insert_or_assign(test.name, output);
  return "";
}
