// Gradients through the C++ API on the CPU, against differences of the
// attention itself.
#include "unittests/Api/ApiProblem.h"

using flashc::Array;
using flashc::DType;
using flashc::Score;
using namespace flashc::test;

namespace {
double dot(const std::vector<float> &a, const std::vector<float> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += double(a[i]) * b[i];
  return sum;
}

void addTo(std::vector<float> &a, const std::vector<float> &direction,
           float factor) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] += factor * direction[i];
}

/// Scores s + slope of the head * (j - i), and what is differentiated: O . dO +
/// LSE . dLSE.
struct GradientProblem : Problem {
  std::vector<float> slopes = {0.1f, 0.2f, 0.05f, 0.15f};
  std::vector<float> dO = numbers(o.size(), 7), dLse = numbers(lse.size(), 8);
  std::vector<float> dq = std::vector<float>(q.size()),
                     dk = std::vector<float>(k.size()),
                     dv = std::vector<float>(v.size()),
                     dSlopes = std::vector<float>(4);
  flashc::AttentionSpec spec;

  GradientProblem() {
    Score s;
    Score::Tensor captured = s.capture("slopes", DType::F32, {4});
    s.result(s.score() +
             captured[{s.head()}] * (s.key() - s.query()).toFloat());
    spec.withHeadDim(16).withDType(DType::F32).withMask("causal").withScore(s);
  }

  Array slopeArray(std::vector<float> &data) {
    return Array::dense(data.data(), DType::F32, {4});
  }
  flashc::GradientArguments gradientArguments() {
    flashc::Arguments forward = arguments();
    flashc::GradientArguments a;
    a.query = a.queryGradient = forward.query;
    a.key = a.keyGradient = forward.key;
    a.value = a.valueGradient = forward.value;
    a.output = a.outputGradient = forward.output;
    a.lse = a.lseGradient = forward.lse;
    a.queryGradient.data = dq.data();
    a.keyGradient.data = dk.data();
    a.valueGradient.data = dv.data();
    a.outputGradient.data = dO.data();
    a.lseGradient.data = dLse.data();
    a.captures = {slopeArray(slopes)};
    a.captureGradients = {slopeArray(dSlopes)};
    return a;
  }
  double loss(const flashc::Kernel &kernel) {
    flashc::Arguments a = arguments();
    a.captures = {slopeArray(slopes)};
    REQUIRE(errorOf(kernel.launch(nullptr, a)) == "");
    return dot(o, dO) + dot(lse, dLse);
  }
};

flashc::Gradients compileAll(const flashc::Context &context,
                             const GradientProblem &p) {
  flashc::GradientOptions options;
  options.captures = {0};
  options.lseGradient = true;
  auto gradients = context.compileGradients(p.spec, options);
  if (!gradients)
    FAIL(gradients.error().message());
  return *gradients;
}
} // namespace

TEST_CASE("api gradients: what differences of the attention give") {
  GradientProblem p;
  flashc::Context context = onCPU();
  flashc::Kernel kernel = compile(context, p.spec);
  flashc::Gradients gradients = compileAll(context, p);
  p.loss(kernel);
  flashc::GradientArguments a = p.gradientArguments();
  auto bytes = gradients.workspace(a);
  REQUIRE(bytes);
  CHECK(*bytes == 0); // the CPU's is its own
  REQUIRE(errorOf(gradients.launch(nullptr, a)) == "");
  CHECK(gradients.info().target == std::string("cpu"));
  CHECK_THAT(gradients.info().manifest,
             Catch::Contains("\"format\": \"flashc-program-1\""));
  // Along a direction of one array at a time. The difference of values near
  // 10 in f32 over a step of 2^-6 is good to some 2^-15.
  constexpr float kStep = 0x1p-7f;
  for (auto [array, gradient] : {std::pair(&p.q, &p.dq),
                                 {&p.k, &p.dk},
                                 {&p.v, &p.dv},
                                 {&p.slopes, &p.dSlopes}}) {
    std::vector<float> direction = numbers(array->size(), 11);
    double wanted = dot(*gradient, direction);
    addTo(*array, direction, kStep);
    double above = p.loss(kernel);
    addTo(*array, direction, -2 * kStep);
    double below = p.loss(kernel);
    addTo(*array, direction, kStep);
    CHECK((above - below) / (2 * kStep) == Approx(wanted).epsilon(2e-3));
    CHECK(std::abs(wanted) > 0.01); // else any zeros would do
  }
}

TEST_CASE("api gradients: arrays that do not go together") {
  GradientProblem p;
  flashc::Context context = onCPU();
  flashc::Gradients gradients = compileAll(context, p);
  auto launch = [&](auto change) {
    flashc::GradientArguments a = p.gradientArguments();
    change(a);
    return errorOf(gradients.launch(nullptr, a));
  };
  using Given = flashc::GradientArguments;
  CHECK(launch([](Given &a) { a.lseGradient = Array(); }) ==
        "gradients, array 'dlse': it is not given; fill in the argument of "
        "that name");
  CHECK(launch([](Given &a) { a.keyGradient.dtype = FLASHC_F16; }) ==
        "gradients, array 'dk': its dtype is f16 (1), but they take f32; "
        "convert it, or compile others");
  CHECK(launch([](Given &a) { a.outputGradient.shape[2] = 8; }) ==
        "array 'do': dimension 2 has size 8, but 9 is needed beside the other "
        "arrays; pass arrays of one problem");
  CHECK(launch([](Given &a) { a.queryGradient.rank = 3; }) ==
        "array 'dq' has rank 3, but needs 4 (batch, head, length, head dim); "
        "reshape it");
  CHECK(launch([](Given &a) { a.value.shape[1] = -1; }) ==
        "array 'v': dimension 1 has size -1, but 2 is needed beside the other "
        "arrays; pass arrays of one problem");
  CHECK(launch([](Given &a) { a.captures.clear(); }) ==
        "gradients: 0 captures are given, but they take 1; give those of the "
        "description");
  CHECK(launch([](Given &a) { a.captureGradients.clear(); }) ==
        "gradients: 0 gradients of captures are given, but they write 1; give "
        "those that were asked for");
  CHECK(launch([](Given &a) { a.captureGradients[0].shape[0] = 3; }) ==
        "gradients, array 'dcapture0': its shape is (3), but that of the "
        "capture is (4); give it the same");
  CHECK(launch([](Given &a) { a.captureGradients[0].strides[0] = 2; }) ==
        "gradients, array 'dcapture0': dimension 0 has stride 2, but 1 is "
        "needed; make it contiguous");
  CHECK(launch([](Given &) {}) == "");
}

TEST_CASE("api gradients: what cannot be compiled") {
  flashc::Context context = onCPU();
  flashc::GradientOptions options;
  options.captures = {1};
  auto none = context.compileGradients(GradientProblem().spec, options);
  REQUIRE(!none);
  CHECK_THAT(none.error().message(),
             Catch::Contains("has 1 captures, but the gradient of capture 1 "));
}

TEST_CASE("api gradients: for a GPU that is not here") {
  flashc::ContextOptions options;
  options.target = "sm_80";
  options.device = -1;
  options.cacheDir = "";
  options.assembler = flashc::Assembler::Driver;
  auto context = flashc::Context::create(options);
  REQUIRE(context);
  flashc::AttentionSpec spec;
  spec.withHeadDim(64).withMask("causal");
  auto gradients = context->compileGradients(spec);
  REQUIRE(gradients);
  CHECK(gradients->info().target == std::string("sm_80"));
  CHECK(gradients->info().origin == std::string("compiled"));
  CHECK_THAT(gradients->info().manifest,
             Catch::Contains("attention_backward_delta"));
}
