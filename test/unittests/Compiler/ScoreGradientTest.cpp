// Symbolic derivatives of score regions beside finite differences: each op
// once. Regions are computed in double, so that the difference quotient says
// what the formula is and not how it rounds.
#include "flashc/Compiler/Compiler.h"
#include "flashc/Compiler/ScoreFunction.h"

#include "unittests/Catch.h"

#include <cmath>

using namespace flashc;

namespace {
/// A score function with the body `body` from %s, %h, %i, %j and tables
/// %t: tensor<2x3xf32> and %u: tensor<3xf32> to %r.
std::string moduleText(const std::string &body) {
  return "func.func @f(%q: tensor<?x?x?x8xf32>, %t: tensor<2x3xf32>, %u: "
         "tensor<3xf32>) -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {\n"
         "%o, %l = attn.forward %q, %q, %q captures(%t, %u : tensor<2x3xf32>, "
         "tensor<3xf32>) : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, "
         "tensor<?x?x?x8xf32> -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {\n"
         "^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: "
         "tensor<2x3xf32>, %y: tensor<3xf32>):\n" +
         body +
         "\nattn.yield %r : f32\n}\n"
         "return %o, %l : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>\n}\n";
}

/// The score function and its derivatives, with the tables that they read.
class Pair {
public:
  explicit Pair(const std::string &body)
      : context(makeContext()), t(NpyArray::DType::F32, {2, 3}),
        u(NpyArray::DType::F32, {3}) {
    for (int n = 0; n < 6; ++n)
      t.as<float>()[n] = 0.25f * float(n) + 0.5f;
    for (int n = 0; n < 3; ++n)
      u.as<float>()[n] = 0.75f - 0.5f * float(n);
    auto module = parseModule(moduleText(body), "test.mlir", *context);
    if (!module)
      FAIL(llvm::toString(module.takeError()));
    forward = std::move(*module);
    CompileOptions options;
    options.arch = "cpu";
    options.backward = true;
    options.gradients = {0, 1};
    auto lowered = lowerTo(*forward, options, Stage::Attn);
    if (!lowered)
      FAIL(llvm::toString(lowered.takeError()));
    backward = std::move(lowered->module);
    auto found = findAttention(*forward);
    REQUIRE(bool(found));
    score = llvm::cantFail(ScoreFunction::create(found->forward, {&t, &u}));
    auto derived = findBackward(*backward);
    REQUIRE(bool(derived));
    gradient = llvm::cantFail(
        ScoreGradientFunction::create(derived->backward, {&t, &u}));
  }

  /// Compares at one place.
  void compare(double s, int64_t h, int64_t i, int64_t j) {
    auto derivatives = gradient(s, 0, h, i, j);
    constexpr double kStep = 0x1p-12;
    auto close = [&](double got, double high, double low) {
      double want = (high - low) / (2 * kStep);
      INFO("at " << s << ", " << h << ", " << i << ", " << j);
      // The quotient's own error is of the order of its step's square.
      CHECK(got == Approx(want).epsilon(1e-5).margin(1e-6));
    };
    close(derivatives.byScore, score(s + kStep, 0, h, i, j),
          score(s - kStep, 0, h, i, j));
    for (int64_t capture : {0, 1}) {
      NpyArray &array = capture ? u : t;
      for (int64_t e = 0; e < array.numElements(); ++e) {
        double sum = 0;
        for (const auto &to : derivatives.byCaptures)
          if (to.capture == capture && to.element == e)
            sum += to.value;
        float &element = array.as<float>()[e], kept = element;
        element = kept + float(kStep);
        double high = score(s, 0, h, i, j);
        element = kept - float(kStep);
        double low = score(s, 0, h, i, j);
        element = kept;
        close(sum, high, low);
      }
    }
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  NpyArray t, u;
  mlir::OwningOpRef<mlir::ModuleOp> forward, backward;
  ScoreFunction score;
  ScoreGradientFunction gradient;
};

/// At several scores, heads, queries and keys.
void check(const std::string &body,
           std::vector<double> scores = {-1.3, -0.2, 0.4, 1.7}) {
  INFO(body);
  Pair pair(body);
  for (double s : scores)
    for (int64_t place = 0; place < 3; ++place)
      pair.compare(s, place % 2, place, 2 - place);
}

/// `op` of the score.
void checkUnary(const std::string &op,
                std::vector<double> scores = {-1.3, -0.2, 0.4, 1.7}) {
  check("%r = " + op + " %s : f32", std::move(scores));
}

/// `op` of the score and an element of the table, both ways round.
void checkBinary(const std::string &op,
                 std::vector<double> scores = {-1.3, -0.2, 0.4, 1.7}) {
  std::string read = "%a = tensor.extract %x[%h, %j] : tensor<2x3xf32>\n";
  check(read + "%r = " + op + " %s, %a : f32", scores);
  check(read + "%r = " + op + " %a, %s : f32", scores);
}
} // namespace

TEST_CASE("score gradient: arithmetic") {
  for (const char *op :
       {"arith.addf", "arith.subf", "arith.mulf", "arith.divf",
        "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"})
    checkBinary(op);
  checkUnary("arith.negf");
  check("%two = arith.constant 2.0 : f32\n%a = tensor.extract %y[%j] : "
        "tensor<3xf32>\n%m = arith.addf %a, %two : f32\n%r = arith.remf %s, "
        "%m : f32",
        {-4.1, 0.3, 6.2});
  check("%a = tensor.extract %y[%j] : tensor<3xf32>\n%r = math.fma %s, %a, %s "
        ": f32");
}

TEST_CASE("score gradient: exponentials, logarithms, roots") {
  for (const char *op : {"math.exp", "math.exp2", "math.expm1"})
    checkUnary(op);
  for (const char *op : {"math.log", "math.log2", "math.log10", "math.log1p",
                         "math.sqrt", "math.rsqrt"})
    checkUnary(op, {0.3, 1.1, 2.6});
  checkUnary("math.cbrt", {-2.0, 0.7, 1.9});
  checkBinary("math.powf", {0.3, 1.2, 2.4});
}

TEST_CASE("score gradient: trigonometric and hyperbolic functions") {
  for (const char *op :
       {"math.sin", "math.cos", "math.tan", "math.atan", "math.sinh",
        "math.cosh", "math.tanh", "math.asinh", "math.erf", "math.erfc"})
    checkUnary(op, {-1.2, -0.2, 0.4, 1.3});
  for (const char *op : {"math.asin", "math.acos", "math.atanh"})
    checkUnary(op, {-0.8, -0.1, 0.5});
  checkUnary("math.acosh", {1.2, 2.5});
  checkBinary("math.atan2");
}

TEST_CASE("score gradient: kinks and choices") {
  checkUnary("math.absf");
  checkBinary("math.copysign");
  check(
      "%low = tensor.extract %y[%j] : tensor<3xf32>\n%one = arith.constant "
      "1.0 : f32\n%high = arith.addf %low, %one : f32\n%r = math.clampf %s to "
      "[%low, %high] : f32");
  check("%z = arith.constant 0.0 : f32\n%c = arith.cmpf ogt, %s, %z : f32\n"
        "%a = tensor.extract %y[%h] : tensor<3xf32>\n%b1 = arith.mulf %a, %s : "
        "f32\n%r = arith.select %c, %b1, %a : f32");
}

TEST_CASE("score gradient: values and elements that are used twice, clamped "
          "indices, 16-bit steps") {
  check("%n = arith.constant -5 : index\n%a = tensor.extract %x[%n, %j] : "
        "tensor<2x3xf32>\n%p = arith.mulf %a, %a : f32\n%t1 = math.tanh %s : "
        "f32\n%q1 = arith.mulf %t1, %p : f32\n%r = arith.addf %q1, %t1 : f32");
  // In double, extf and truncf are nothing.
  check("%a = arith.truncf %s : f32 to f16\n%b1 = arith.mulf %a, %a : f16\n"
        "%r = arith.extf %b1 : f16 to f32");
  // The score does not matter at all.
  check("%r = tensor.extract %y[%j] : tensor<3xf32>");
}

static std::string errorOf(const std::string &body) {
  auto context = makeContext();
  auto module =
      llvm::cantFail(parseModule(moduleText(body), "test.mlir", *context));
  CompileOptions options;
  options.arch = "cpu";
  options.backward = true;
  auto lowered = lowerTo(*module, options, Stage::Attn);
  return lowered ? "" : llvm::toString(lowered.takeError());
}

TEST_CASE("score gradient: rounding is refused only on the way to the score") {
  for (const char *op : {"math.floor", "math.ceil", "math.round",
                         "math.roundeven", "math.trunc"}) {
    std::string error = errorOf("%r = " + std::string(op) + " %s : f32");
    CHECK(error.find("no useful derivative") != std::string::npos);
    CHECK(error.find("straight-through") != std::string::npos);
    // Of a table whose gradient nobody asks for.
    CHECK(errorOf("%a = tensor.extract %y[%j] : tensor<3xf32>\n%f = " +
                  std::string(op) +
                  " %a : f32\n%r = arith.addf %s, %f : f32") == "");
  }
  CHECK(errorOf("%a = arith.fptosi %s : f32 to i32\n%r = arith.sitofp %a : i32 "
                "to f32")
            .find("no useful derivative") != std::string::npos);
}
