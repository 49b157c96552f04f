//===- GradientDraw.cpp - The random sweep of the backward ----------------===//
//
// In: a seed. Out: the forward's draw of that seed, with a score function and
// gradients. What decides the kernel is drawn from `seed mod kernels`.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/GradientCases.h"

#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

GradientProblem reference::gradientOf(AttentionProblem forward, Random &random,
                                      bool withDLse) {
  GradientProblem problem;
  problem.forward = std::move(forward);
  const AttentionProblem &p = problem.forward;
  fillResults(problem);
  problem.dO = HostTensor::dense(
      p.dtype(), {p.batch(), p.heads(), p.sq(), p.valueHeadDim()}, p.layout);
  fillNormal(problem.dO, random);
  if (withDLse)
    for (int64_t n = 0; n < p.batch() * p.heads() * p.sq(); ++n)
      problem.dLse.push_back(float(random.normal()));
  for (size_t n = 0; n < p.captures.size(); ++n)
    if (p.scoreDerivative)
      problem.gradients.push_back(n);
  return problem;
}

GradientCase reference::drawGradient(uint64_t seed,
                                     const DrawOptions &options) {
  uint64_t kernel = options.kernels ? seed % options.kernels : seed;
  Random classRandom(kernel ^ 0xbac4'0000'0000), random(seed ^ 0x9d0'0000'0000);
  TestCase drawn = drawProblem(seed, options);
  GradientCase test;
  test.tiles = drawn.tiles;
  test.staticHeads = drawn.staticHeads;
  AttentionProblem &p = drawn.problem;
  bool withDLse = classRandom.chance(30);
  bool deterministic = classRandom.chance(30);
  if (classRandom.chance(50))
    addScoreFunction(p, ScoreKind(classRandom.range(0, kScoreKinds - 1)),
                     random, drawn.staticHeads);
  test.problem = gradientOf(std::move(p), random, withDLse);
  test.problem.deterministic = deterministic;
  test.name = fmt::format("draw {}: {} tiles {}", seed, test.problem.describe(),
                          test.tiles);
  return test;
}
