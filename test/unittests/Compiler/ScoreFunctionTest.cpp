// Score regions in double: each kind of op once.
#include "flashc/Compiler/ScoreFunction.h"
#include "flashc/Compiler/Module.h"

#include "unittests/Catch.h"

#include <cmath>

using namespace flashc;

/// The score function whose body is `body`, over one captured tensor<2x3xf16>
/// %t.
static double evaluate(const std::string &body, double score, int64_t b,
                       int64_t h, int64_t i, int64_t j) {
  auto context = makeContext();
  std::string types = "tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, "
                      "tensor<?x?x?x8xf32> -> (tensor<?x?x?x8xf32>, "
                      "tensor<?x?x?xf32>)";
  auto module = parseModule(
      "func.func @f(%q: tensor<?x?x?x8xf32>, %table: tensor<2x3xf16>) -> "
      "tensor<?x?x?x8xf32> {\n %o, %l = attn.forward %q, %q, %q "
      "captures(%table : "
      "tensor<2x3xf16>) : " +
          types +
          " {\n^bb0(%s: f32, %b: index, %h: index, "
          "%i: index, %j: index, %t: tensor<2x3xf16>):\n" +
          body + "\nattn.yield %r : f32\n}\nreturn %o : tensor<?x?x?x8xf32>\n}",
      "test.mlir", *context);
  if (!module)
    FAIL(llvm::toString(module.takeError()));
  auto found = findAttention(**module);
  REQUIRE(bool(found));
  CHECK(found->captureNames == std::vector<std::string>{"table"});
  NpyArray table(NpyArray::DType::F16, {2, 3});
  for (int n = 0; n < 6; ++n)
    table.as<uint16_t>()[n] = 0x3c00 + 0x0400 * n; // 1, 2, 4, 8, 16, 32
  auto function = ScoreFunction::create(found->forward, {&table});
  if (!function)
    FAIL(llvm::toString(function.takeError()));
  return (*function)(score, b, h, i, j);
}

TEST_CASE("floats are double") {
  CHECK(evaluate("%r = math.exp %s : f32", 1.5, 0, 0, 0, 0) == std::exp(1.5));
  CHECK(evaluate("%a = arith.truncf %s : f32 to f16\n"
                 "%r = arith.extf %a : f16 to f32",
                 1.0 / 3, 0, 0, 0, 0) == 1.0 / 3);
  CHECK(evaluate("%a = math.tanh %s : f32\n%r = math.fma %a, %s, %s : f32", 2,
                 0, 0, 0, 0) == std::fma(std::tanh(2.0), 2, 2));
  CHECK(std::isnan(evaluate("%c = arith.constant 0x7FC00000 : f32\n"
                            "%r = arith.maximumf %s, %c : f32",
                            2, 0, 0, 0, 0)));
}

TEST_CASE("integers wrap and extend as their types say") {
  CHECK(evaluate("%a = arith.index_cast %j : index to i8\n"
                 "%b1 = arith.addi %a, %a : i8\n"
                 "%r = arith.sitofp %b1 : i8 to f32",
                 0, 0, 0, 0, 100) == -56);
  CHECK(evaluate("%a = arith.index_cast %j : index to i8\n"
                 "%r = arith.uitofp %a : i8 to f32",
                 0, 0, 0, 0, 200) == 200);
  CHECK(evaluate("%c = arith.constant 3 : index\n"
                 "%d = arith.subi %i, %j : index\n"
                 "%a = arith.floordivsi %d, %c : index\n"
                 "%n = arith.index_cast %a : index to i32\n"
                 "%r = arith.sitofp %n : i32 to f32",
                 0, 0, 0, 1, 5) == -2);
  CHECK(evaluate("%p = arith.cmpi ult, %i, %j : index\n"
                 "%c = arith.constant 7.0 : f32\n"
                 "%r = arith.select %p, %c, %s : f32",
                 1, 0, 0, 2, 3) == 7);
}

TEST_CASE("captured tensors are read at the nearest element") {
  std::string read = "%x = tensor.extract %t[%i, %j] : tensor<2x3xf16>\n"
                     "%r = arith.extf %x : f16 to f32";
  CHECK(evaluate(read, 0, 0, 0, 1, 1) == 16);
  CHECK(evaluate(read, 0, 0, 0, 9, 9) == 32);
  CHECK(evaluate("%c = arith.constant -4 : index\n"
                 "%x = tensor.extract %t[%h, %c] : tensor<2x3xf16>\n"
                 "%r = arith.extf %x : f16 to f32",
                 0, 0, 1, 0, 0) == 8);
}
