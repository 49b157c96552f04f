//===- GradientCases.h - What every backward must get right -----*- C++ -*-===//
//
// The backward side of the numerical cases, and its random sweep, as data.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_REFERENCE_GRADIENTCASES_H
#define FLASHC_REFERENCE_GRADIENTCASES_H

#include "flashc/Reference/Cases.h"
#include "flashc/Reference/GradientCheck.h"

namespace flashc::reference {

/// One problem, the way it is compiled, and what its result must be.
struct GradientCase {
  std::string name;
  GradientProblem problem;
  /// "auto", "paper" or "QxK".
  std::string tiles = "auto";
  /// The whole schedule instead, as `flashc --schedule` takes it; empty: none.
  std::string schedule;
  /// Compile with the numbers of heads static; else dynamic.
  bool staticHeads = false;
  /// As in TestCase.
  bool mayCopy = false;
  /// The name of an earlier case whose gradients this one equals bit for bit.
  std::string sameAs;
  /// More than the error rule: empty if the result is right, else what is
  /// wrong.
  std::function<std::string(const GradientProblem &, const Gradients &)> expect;
};

/// Cases 1, 2, 5 to 8, 10 to 12, 14, 15 and 18 of the project's list.
std::vector<GradientCase> gradientCases();

/// Draw number `seed` of the random sweep.
GradientCase drawGradient(uint64_t seed, const DrawOptions &options = {});

/// A backward of `forward` with normal dO and, if asked for, dLSE.
GradientProblem gradientOf(AttentionProblem forward, Random &random,
                           bool withDLse = false);

/// The kinds of score function that the draws know, each with captures whose
/// gradients are taken.
enum class ScoreKind {
  /// A learned bias for each query and key.
  Bias,
  /// The same for each head.
  HeadBias,
  /// A bias for each key.
  KeyBias,
  /// ALiBi: a slope for each head times the distance.
  Slopes,
  /// A table by distance, clamped at both ends.
  Relative,
  /// A soft cap, and a temperature for each head in front of it.
  SoftCap,
  /// A smooth step, a gate and a table read twice.
  Mixed
};
constexpr int kScoreKinds = 7;

/// Gives the problem such a score function with its derivatives and captures,
/// and the description of it for the compiler.
void addScoreFunction(AttentionProblem &problem, ScoreKind kind, Random &random,
                      bool staticHeads);

/// Gives the problem, which is not empty, a bias for each query and key of its
/// own type, with a number for each batch or head too, or one for all of them.
void addNarrowBias(AttentionProblem &p, Random &random, bool byBatch,
                   bool byHead);

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_GRADIENTCASES_H
