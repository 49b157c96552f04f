// Case 14's other half: byte offsets past 2^31 and 2^32. The arrays are strided
// views of memory that is reserved and never touched but where the elements
// are.
#include "unittests/Catch.h"
#include "unittests/Numerics/CpuHarness.h"

#include <cmath>
#include <cstring>
#include <sys/mman.h>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
/// Address space alone: pages appear when they are written.
class Reserve {
public:
  explicit Reserve(size_t bytes)
      : bytes(bytes),
        base(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserve() { munmap(base, bytes); }
  Reserve(const Reserve &) = delete;
  bool ok() const { return base != MAP_FAILED; }
  char *data() { return static_cast<char *>(base); }

private:
  size_t bytes;
  void *base;
};

template <typename F>
void eachRow(const std::array<int64_t, 4> &shape, F visit) {
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      for (int64_t s = 0; s < shape[2]; ++s)
        visit(b, h, s);
}

/// Copies rows between a tensor and the view of `strides` (elements) on `far`.
void copyRows(HostTensor &near, char *far,
              const std::array<int64_t, 4> &strides, bool toFar) {
  int64_t bytes = elementBytes(near.element);
  eachRow(near.shape, [&](int64_t b, int64_t h, int64_t s) {
    char *there =
        far + (b * strides[0] + h * strides[1] + s * strides[2]) * bytes;
    char *here = near.data() + (near.index(b, h, s, 0) - near.offset) * bytes;
    std::memcpy(toFar ? there : here, toFar ? here : there,
                near.shape[3] * bytes);
  });
}

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
