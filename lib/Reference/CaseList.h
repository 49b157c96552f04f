//===- CaseList.h - What the numerical cases are made with ------*- C++ -*-===//
#ifndef FLASHC_LIB_REFERENCE_CASELIST_H
#define FLASHC_LIB_REFERENCE_CASELIST_H

#include "flashc/Reference/Cases.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>

namespace flashc::reference {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t batch = 1, heads = 2, kvHeads = 2, sq = 64, sk = 64, d = 64, dv = 0;
  Element element = Element::F16;
  Layout layout = Layout::BSHD;
};

/// Normal inputs.
AttentionProblem normalProblem(const Shape &shape, MaskExpr mask,
                               uint64_t seed = 1);

/// Set every element to `value(b, h, s, d)`.
template <typename F> void setEach(HostTensor &t, F value) {
  for (int64_t b = 0; b < t.shape[0]; ++b)
    for (int64_t h = 0; h < t.shape[1]; ++h)
      for (int64_t s = 0; s < t.shape[2]; ++s)
        for (int64_t d = 0; d < t.shape[3]; ++d)
          t.set(b, h, s, d, value(b, h, s, d));
}

/// Give the problem an additive bias of shape Sq x Sk as its score function.
void addBias(AttentionProblem &p,
             llvm::function_ref<float(int64_t i, int64_t j)> value);

/// The list as it grows.
struct CaseList {
  std::vector<TestCase> all;
  TestCase &add(std::string name, AttentionProblem p) {
    TestCase &test = all.emplace_back();
    test.name = std::move(name);
    test.problem = std::move(p);
    return test;
  }
};

using Expectation = std::function<std::string(
    const AttentionProblem &, const HostTensor &o, const float *lse)>;
/// O is V of the same row, bit for bit.
std::string equalsV(const AttentionProblem &p, const HostTensor &o,
                    const float *lse);
/// Rows lo to hi - 1 of every head: O = 0 and LSE = -inf.
Expectation emptyRows(int64_t lo, int64_t hi);
/// No LSE is -inf.
std::string noEmptyRow(const AttentionProblem &p, const HostTensor &o,
                       const float *lse);
/// Rows i with i % 7 == 3 are the mean of V, to one rounding of the result: the
/// error rule says little where scores are as large as f32 goes.
std::string uniformRows(const AttentionProblem &p, const HostTensor &o,
                        const float *lse);

/// Cases 1, 2, 4 and 6 to 10: what is in the arrays.
void addValueCases(CaseList &list);
/// Cases 11 to 15: how large they are and where they lie.
void addShapeCases(CaseList &list);

} // namespace flashc::reference

#endif // FLASHC_LIB_REFERENCE_CASELIST_H
