// Case 14's other half: byte offsets past 2^31 and 2^32. The arrays are strided
// views of memory that is reserved and never touched but where the elements
// are.
#include "unittests/Catch.h"
#include "unittests/Numerics/CpuHarness.h"
#include "unittests/Numerics/Reserve.h"

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
/// The case with Q, K, V and O far apart gives the bits that it gives dense.
void compareFar(const TestCase &test, const std::array<int64_t, 4> &strides) {
  CpuHarness harness;
  llvm::Expected<Output> dense = harness.run(test);
  REQUIRE(bool(dense));
  Judge judge;
  CHECK(judge.judge(test, *dense) == "");

  constexpr size_t kReserve = size_t(9) << 30;
  Reserve memory[4] = {Reserve(kReserve), Reserve(kReserve), Reserve(kReserve),
                       Reserve(kReserve)};
  AttentionProblem p = test.problem;
  HostTensor o = makeOutput(test).o;
  HostTensor *tensors[4] = {&p.q, &p.k, &p.v, &o};
  std::vector<CpuArgument> arguments;
  for (int n = 0; n < 4; ++n) {
    if (!memory[n].ok())
      FLASHC_SKIP("this machine reserves no 36 GiB of address space");
    copyRows(*tensors[n], memory[n].data(), strides, /*toFar=*/true);
    CpuArgument argument = argumentOf(*tensors[n]);
    argument.data = memory[n].data();
    argument.strides.assign(strides.begin(), strides.end());
    arguments.push_back(argument);
  }
  std::vector<float> lse(dense->lse.size());
  arguments.push_back({lse.data(), {p.batch(), p.heads(), p.sq()}, {}});
  llvm::Error error = harness.kernel(test).kernel->run(arguments);
  REQUIRE(llvm::toString(std::move(error)) == "");
  copyRows(o, memory[3].data(), strides, /*toFar=*/false);
  CHECK(o.storage == dense->o.storage);
  CHECK(lse == dense->lse);
}

TestCase smallCase(int64_t batch, int64_t heads, int64_t length) {
  TestCase test;
  test.name = "far apart";
  AttentionProblem &p = test.problem;
  p.mask = MaskExpr::causal();
  p.scale = 0.125;
  Random random(14);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::dense(Element::F16, {batch, heads, length, 64}, p.layout);
    fillNormal(*t, random);
  }
  return test;
}
} // namespace

TEST_CASE("cpu case 14: heads and batches past 2^31 and 2^32 bytes") {
  // Heads are 2 GiB apart, batches 4 GiB and a row.
  constexpr int64_t kGi = int64_t(1) << 30;
  compareFar(smallCase(2, 2, 70), {2 * kGi + 64, kGi, 64, 1});
}

TEST_CASE("cpu case 14: rows past 2^31 and 2^32 bytes") {
  // Row 3 starts 6 GiB behind row 0.
  constexpr int64_t kGi = int64_t(1) << 30;
  compareFar(smallCase(2, 2, 4), {64 * 2, 64, kGi, 1});
}
