// The shared cases and draws: that they are well formed, the same everywhere,
// and that their reference is finite.
#include "unittests/Catch.h"

#include "flashc/Reference/Cases.h"
#include "flashc/Reference/Check.h"

#include <cmath>
#include <map>
#include <set>

using namespace flashc::reference;

TEST_CASE("cases: names are unique, references finite, sameAs is earlier") {
  std::set<std::string> names;
  for (const TestCase &test : cases()) {
    INFO(test.name);
    CHECK((test.sameAs.empty() || names.count(test.sameAs)));
    CHECK(names.insert(test.name).second);
    const AttentionProblem &p = test.problem;
    RowValues values = referenceAttention(p, sampleRows(p, 1 << 22));
    for (double o : values.o)
      if (!std::isfinite(o))
        FAIL("the reference is not finite");
    for (double lse : values.lse)
      if (std::isnan(lse) || lse > 1e300)
        FAIL("the reference's lse is not finite");
    CHECK(p.mlir.empty() == p.captures.empty());
  }
  CHECK(names.size() > 130);
}

TEST_CASE("draws: the same seed gives the same problem") {
  for (uint64_t seed : {0, 1, 499}) {
    TestCase a = drawProblem(seed), b = drawProblem(seed);
    CHECK(a.name == b.name);
    CHECK(a.problem.q.storage == b.problem.q.storage);
  }
  // A change of the sweep shows here: change the words with the generator.
  CHECK(drawProblem(3).name ==
        "draw 3: f32 bhsd B2 H4/1 Sq49 Sk49 D80/80 causal tiles auto");
}

TEST_CASE("draws: what the sweep covers") {
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    TestCase test = drawProblem(seed, {.maxWork = 1'000'000});
    const AttentionProblem &p = test.problem;
    ++seen[elementName(p.dtype()).str()];
    ++seen[layoutName(p.layout).str()];
    ++seen[test.tiles == "auto" || test.tiles == "paper" ? test.tiles : "QxK"];
    seen["odd head dim"] += p.headDim() % 8 != 0;
    seen["large head dim"] += p.headDim() > 128;
    seen["two head dims"] += p.headDim() != p.valueHeadDim();
    seen["groups"] += p.heads() != p.kvHeads();
    seen["key lengths"] += !p.kvLengths.empty();
    seen["or"] += p.mask.text().find('|') != std::string::npos;
    seen["and"] += p.mask.text().find('&') != std::string::npos;
    seen["not"] += p.mask.text().find('!') != std::string::npos;
    seen["window"] += p.mask.text().find("window") != std::string::npos;
    seen["gaps"] +=
        p.q.strides[2] * p.q.shape[2] + p.q.strides[1] * p.q.shape[1] !=
        p.q.strides[0] + p.q.shape[3];
    CHECK(p.sq() * p.sk() * p.batch() * p.heads() *
              (p.headDim() + p.valueHeadDim()) <=
          1'000'000);
  }
  for (const char *what :
       {"f16", "bf16", "f32", "bshd", "bhsd", "auto", "paper", "QxK",
        "odd head dim", "large head dim", "two head dims", "groups",
        "key lengths", "or", "and", "not", "window", "gaps"}) {
    INFO(what);
    CHECK(seen[what] >= 15);
  }
}

TEST_CASE("draws: kernels are shared by number") {
  DrawOptions options{.withF32 = false, .kernels = 7};
  TestCase a = drawProblem(3, options), b = drawProblem(10, options);
  CHECK(a.problem.headDim() == b.problem.headDim());
  CHECK(a.problem.mask.text() == b.problem.mask.text());
  CHECK(a.tiles == b.tiles);
  CHECK(a.name != b.name);
}
