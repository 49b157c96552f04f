// A whole kernel on the CPU: values against the oracle for every vector width,
// any number of threads, and what is refused before it runs.
#include "unittests/Catch.h"
#include "unittests/TargetCPU/CompileTile.h"

#include "flashc/Reference/Cases.h"
#include "flashc/Reference/Check.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace flashc;
using namespace flashc::reference;
using flashc::test::argument;

namespace {
std::string readTest(const char *name) {
  auto file =
      llvm::MemoryBuffer::getFile(std::string(FLASHC_TEST_DIR "/") + name);
  return file ? (*file)->getBuffer().str() : "";
}

AttentionProblem causalProblem(int64_t sq, int64_t sk) {
  AttentionProblem p;
  p.scale = 0.125;
  p.mask = MaskExpr::causal();
  Random random(3);
  p.q = HostTensor::dense(Element::F16, {2, 4, sq, 64}, p.layout);
  p.k = HostTensor::dense(Element::F16, {2, 2, sk, 64}, p.layout);
  p.v = HostTensor::dense(Element::F16, {2, 2, sk, 64}, p.layout);
  fillNormal(p.q, random, 4);
  fillNormal(p.k, random);
  fillNormal(p.v, random);
  return p;
}

/// O, and LSE as f32 words.
struct Output {
  HostTensor o;
  std::vector<float> lse;
};

Output run(const CpuKernel &kernel, const AttentionProblem &p,
           unsigned threads = 0) {
  Output out{HostTensor::dense(p.dtype(),
                               {p.batch(), p.heads(), p.sq(), p.valueHeadDim()},
                               p.layout),
             std::vector<float>(p.batch() * p.heads() * p.sq(), 7)};
  CpuArgument lse{out.lse.data(), {p.batch(), p.heads(), p.sq()}, {}};
  llvm::Error error = kernel.run(
      {argument(p.q), argument(p.k), argument(p.v), argument(out.o), lse},
      threads);
  if (error)
    throw std::runtime_error(llvm::toString(std::move(error)));
  return out;
}
} // namespace

TEST_CASE("cpu: the hand-written causal kernel agrees with the oracle") {
  std::string text = readTest("Pipelines/expanded-causal.mlir");
  for (int64_t bits : {128, 256, 512}) {
    if (bits > hostVectorBits())
      continue;
    auto kernel = test::compileTile(text, bits);
    CHECK(kernel->name() == "causal");
    CHECK(kernel->blockRows() == 128);
    for (auto [sq, sk] :
         {std::pair<int64_t, int64_t>{200, 333}, {1, 65}, {300, 130}, {5, 0}}) {
      INFO(bits << " bits, Sq " << sq << ", Sk " << sk);
      AttentionProblem p = causalProblem(sq, sk);
      Output out = run(*kernel, p);
      ErrorReport report = checkError(p, out.o, out.lse.data());
      INFO(report.why);
      CHECK(report.ok);
    }
  }
}

TEST_CASE("cpu: the number of threads does not show") {
  auto kernel = test::compileTile(readTest("Pipelines/expanded-causal.mlir"));
  AttentionProblem p = causalProblem(500, 500);
  Output one = run(*kernel, p, 1), many = run(*kernel, p, 5);
  CHECK(one.o.storage == many.o.storage);
  CHECK(one.lse == many.lse);
}

TEST_CASE("cpu: an empty grid runs nothing") {
  auto kernel = test::compileTile(readTest("Pipelines/expanded-causal.mlir"));
  AttentionProblem p = causalProblem(0, 10);
  CHECK(run(*kernel, p).lse.empty());
}

TEST_CASE("cpu: arguments that do not fit are refused") {
  auto kernel = test::compileTile(readTest("Pipelines/expanded-causal.mlir"));
  AttentionProblem p = causalProblem(3, 3);
  std::vector<CpuArgument> good{argument(p.q),
                                argument(p.k),
                                argument(p.v),
                                argument(p.q),
                                {p.q.data(), {2, 4, 3}, {}}};
  auto message = [&](std::vector<CpuArgument> arguments) {
    return llvm::toString(kernel->run(arguments));
  };
  CHECK(message({good[0]}) == "kernel 'causal' takes 5 arguments, but there "
                              "are 1; pass those of its tile.kernel in order");
  auto bad = good;
  bad[1].sizes = {2, 2, 3};
  CHECK_THAT(message(bad), Catch::Contains("argument 1") &&
                               Catch::Contains("rank 3; pass rank 4"));
  bad = good;
  bad[2].sizes[3] = 32;
  CHECK_THAT(message(bad), Catch::Contains("argument 2") &&
                               Catch::Contains("sizes 2x2x3x32"));
  bad = good;
  bad[0].strides[3] = 2;
  CHECK_THAT(message(bad), Catch::Contains("argument 0") &&
                               Catch::Contains("strides 768, 64, 256, 2"));
}
