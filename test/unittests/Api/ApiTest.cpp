// The C++ API on the CPU, against attention written out.
#include "FromC.h"

#include "unittests/Api/ApiProblem.h"

using flashc::Array;
using flashc::DType;
using flashc::Score;

using namespace flashc::test;

TEST_CASE("api: causal attention with grouped heads") {
  Problem p;
  flashc::AttentionSpec spec;
  spec.withHeadDim(16).withHeads(4, 2).withDType(DType::F32).withMask("causal");
  flashc::Kernel kernel = compile(onCPU(), spec);
  REQUIRE(errorOf(kernel.launch(nullptr, p.arguments())) == "");
  p.check([&](double s, int64_t, int64_t, int64_t i, int64_t j) {
    return j <= i + p.keys - p.queries ? s : -kInfinity;
  });
}

TEST_CASE("api: a launch follows the numbers of keys in memory") {
  Problem p;
  flashc::AttentionSpec spec;
  spec.withHeadDim(16).withDType(DType::F32).withKvLengths();
  flashc::Kernel kernel = compile(onCPU(), spec);
  std::vector<int32_t> lengths(2);
  flashc::Arguments a = p.arguments();
  a.kvLengths = Array::dense(lengths.data(), DType::I32, {2});
  for (std::vector<int32_t> now : {std::vector<int32_t>{21, 3}, {0, 100}}) {
    lengths = now; // the arguments are those of before
    REQUIRE(errorOf(kernel.launch(nullptr, a)) == "");
    p.check([&](double s, int64_t b, int64_t, int64_t, int64_t j) {
      return j < lengths[b] ? s : -kInfinity;
    });
  }
}

TEST_CASE("api: a score function of expressions") {
  Problem p;
  Score s;
  Score::Tensor slopes = s.capture("slopes", DType::F32, {4}),
                limits = s.capture("limits", DType::I32, {0, 4});
  auto distance = (s.key() - s.query()).toFloat();
  auto capped = s.tanh(s.score() / 2) * 2;
  auto biased = capped + slopes[{s.head()}] * distance;
  auto far =
      (s.query() * 2 > limits[{s.batch(), s.head()}]) & (s.key() > s.index(7));
  s.result(s.select(far, s.max(biased, s.number(-0.5)), biased));
  flashc::AttentionSpec spec;
  spec.withHeadDim(16).withDType(DType::F32).withScore(s);
  flashc::Kernel kernel = compile(onCPU(), spec);
  std::vector<float> slope = {0.5f, 0.25f, 0.125f, 0.0625f};
  std::vector<int32_t> limit = {0, 4, 8, 12, 16, 5, 3, 1};
  flashc::Arguments a = p.arguments();
  a.captures = {Array::dense(slope.data(), DType::F32, {4}),
                Array::dense(limit.data(), DType::I32, {2, 4})};
  REQUIRE(errorOf(kernel.launch(nullptr, a)) == "");
  p.check([&](double x, int64_t b, int64_t h, int64_t i, int64_t j) {
    double y = std::tanh(x / 2) * 2 + slope[h] * double(j - i);
    bool far = i * 2 > limit[b * 4 + h] && j > 7;
    return far ? std::max(y, -0.5) : y;
  });
}

TEST_CASE("api: infinity in a score hides a key") {
  Problem p;
  Score s;
  s.result(s.select(s.key() == s.index(0), s.number(-INFINITY), s.score()));
  flashc::AttentionSpec spec;
  spec.withHeadDim(16).withDType(DType::F32).withScore(s);
  flashc::Kernel kernel = compile(onCPU(), spec);
  REQUIRE(errorOf(kernel.launch(nullptr, p.arguments())) == "");
  p.check([&](double x, int64_t, int64_t, int64_t, int64_t j) {
    return j == 0 ? -kInfinity : x;
  });
}

// The launch puts them side by side where the kernel does not tell them apart.
TEST_CASE("api: few queries of heads that share keys") {
  flashc::AttentionSpec plain, keys, heads;
  Score byKey, byHead;
  byKey.result(byKey.score() + byKey.key().toFloat() * 0.1);
  byHead.result(byHead.score() + byHead.head().toFloat() * 0.3);
  for (auto *spec : {&plain, &keys, &heads})
    spec->withHeadDim(16).withDType(DType::F32);
  keys.withScore(byKey);
  heads.withScore(byHead);
  for (int64_t queries : {1, 3, 40}) {
    Problem p{.queries = queries};
    auto run = [&](const flashc::AttentionSpec &spec, auto score) {
      flashc::Kernel kernel = compile(onCPU(), spec);
      REQUIRE(errorOf(kernel.launch(nullptr, p.arguments())) == "");
      p.check(score);
    };
    run(plain, [](double x, int64_t, int64_t, int64_t, int64_t) { return x; });
    run(keys, [](double x, int64_t, int64_t, int64_t, int64_t j) {
      return x + 0.1 * double(j);
    });
    run(heads, [](double x, int64_t, int64_t h, int64_t, int64_t) {
      return x + 0.3 * double(h);
    });
  }
}

TEST_CASE("api: a module of one's own") {
  flashc::AttentionSpec spec;
  spec.mlir = "func.func @mine(%q: tensor<?x?x?x16xf32>, %k: "
              "tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>) -> "
              "(tensor<?x?x?x16xf32>, tensor<?x?x?xf32>) {\n"
              "%o, %lse = attn.forward %q, %k, %v : tensor<?x?x?x16xf32>, "
              "tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32> -> "
              "(tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)\n"
              "return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>\n}";
  Problem p;
  flashc::Kernel kernel = compile(onCPU(), spec);
  CHECK(kernel.info().name == std::string("mine"));
  REQUIRE(errorOf(kernel.launch(nullptr, p.arguments())) == "");
  p.check([](double x, int64_t, int64_t, int64_t, int64_t) { return x; });
}

TEST_CASE("api: from C") {
  float output[8] = {};
  REQUIRE(attention_from_c(output) == 0);
  for (int n = 0; n < 8; ++n)
    CHECK(output[n] == (n < 4 ? 1.0f : 2.0f));
}

TEST_CASE("api: what a kernel says of itself") {
  flashc::ContextOptions options;
  options.target = "sm_90a";
  options.device = -1;
  options.cacheDir = "";
  options.assembler = flashc::Assembler::Driver;
  auto context = flashc::Context::create(options);
  REQUIRE(context);
  CHECK(context->target() == "sm_90a");
  flashc::AttentionSpec spec;
  spec.withHeadDim(128).withMask("causal");
  std::vector<std::string> steps;
  auto kernel =
      context->compile(spec, [&](std::string_view name, int step, int total) {
        steps.push_back(std::string(name) + " " + std::to_string(step) + "/" +
                        std::to_string(total));
      });
  REQUIRE(kernel);
  CHECK(steps == std::vector<std::string>{"look up 1/5", "lower 2/5", "ptx 3/5",
                                          "load 5/5"});
  flashc::KernelInfo info = kernel->info();
  CHECK(info.name == std::string("attention"));
  CHECK(info.target == std::string("sm_90a"));
  CHECK(info.assembler == std::string("driver"));
  CHECK(info.origin == std::string("compiled"));
  CHECK_THAT(info.ptx, Catch::Contains("wgmma.mma_async"));
  CHECK(info.cubin == nullptr);
  CHECK_THAT(info.manifest, Catch::Contains("\"persistent\": true"));
  CHECK(info.threads == 32 * 4 * (1 + info.q_block / 64));
  CHECK(info.registers == -1);
  auto report = kernel->explain(1, 16, 16, 4096, 4096);
  REQUIRE(report);
  CHECK_THAT(*report, Catch::Contains("target       sm_90a"));
}

TEST_CASE("api: in the background") {
  flashc::Context context = onCPU();
  flashc::AttentionSpec spec;
  spec.withHeadDim(16).withDType(DType::F32);
  int steps = 0;
  auto future =
      context.compileAsync(spec, [&](std::string_view, int, int) { ++steps; });
  REQUIRE(future);
  auto kernel = future->get();
  REQUIRE(kernel);
  CHECK(future->waitFor(std::chrono::milliseconds(0)));
  CHECK(steps == 2);
  Problem p;
  CHECK(errorOf(kernel->launch(nullptr, p.arguments())) == "");
  auto wrong = context.compileAsync(flashc::AttentionSpec());
  REQUIRE(wrong);
  auto none = wrong->get();
  REQUIRE(!none);
  CHECK_THAT(none.error().message(), Catch::Contains("head dim is 0"));
}

TEST_CASE("api: contexts that cannot be") {
  flashc::ContextOptions options;
  options.target = "sm_1";
  options.device = -1;
  auto context = flashc::Context::create(options);
  REQUIRE(!context);
  CHECK_THAT(context.error().message(),
             Catch::Contains("target arch 'sm_1' is not known"));
}
