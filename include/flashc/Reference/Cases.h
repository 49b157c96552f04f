//===- Cases.h - What every attention kernel must get right -----*- C++ -*-===//
//
// The numerical cases and the random sweep as data. The tests of the CPU path
// and of the GPU path run the same list.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_REFERENCE_CASES_H
#define FLASHC_REFERENCE_CASES_H

#include "flashc/Reference/Problem.h"

namespace flashc::reference {

/// One problem, the way it is compiled, and what its result must be.
struct TestCase {
  std::string name;
  AttentionProblem problem;
  /// "auto", "paper" or "QxK".
  std::string tiles = "auto";
  /// Compile with the numbers of heads static; else dynamic.
  bool staticHeads = false;
  bool withLse = true;
  /// Q, K or V has a last stride that is not 1, or a base address or stride
  /// that is not 16-byte aligned although the head dims allow it: a kernel may
  /// refuse it (then the test copies), but never give a wrong answer.
  bool mayCopy = false;
  /// The name of an earlier case whose O and LSE this one equals bit for bit.
  std::string sameAs;
  /// More than the error rule: empty if the result is right, else what is
  /// wrong.
  std::function<std::string(const AttentionProblem &, const HostTensor &o,
                            const float *lse)>
      expect;
};

/// Cases 1, 2, 4, 6 to 8, 10 to 15 of docs/cases (9 too), forward. `bf16` and
/// f16 alone, so that they run on every path.
std::vector<TestCase> cases();

struct DrawOptions {
  /// f32 among the element types (the CPU path).
  bool withF32 = true;
  bool withBF16 = true;
  /// How many different kernels (head dims, dtype, mask, tiles...) the draws
  /// share; 0: each draw has its own. Lengths, batch, strides and values are
  /// each draw's own in any case.
  uint64_t kernels = 0;
  /// At most so many multiply-adds a draw.
  int64_t maxWork = 150'000'000;
  /// The largest tile that is asked for by name.
  bool smallTiles = false;
};

/// Draw number `seed` of the random sweep: always the same for the same seed
/// and options, on every machine.
TestCase drawProblem(uint64_t seed, const DrawOptions &options = {});

/// Numbers that are the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t next();
  /// Uniform in lo to hi, both included.
  int64_t range(int64_t lo, int64_t hi) {
    return lo +
           static_cast<int64_t>(next() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool chance(int percent) { return range(0, 99) < percent; }
  template <typename T, size_t N> T pick(const T (&list)[N]) {
    return list[range(0, N - 1)];
  }
  /// Standard normal.
  double normal();

private:
  uint64_t state;
  double spare = 0;
  bool hasSpare = false;
};

/// Fill with normal numbers of the given standard deviation.
void fillNormal(HostTensor &tensor, Random &random, double deviation = 1);

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_CASES_H
