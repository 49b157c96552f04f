//===- ScoreFunctions.cpp - Score functions with derivatives --------------===//
//
// For the tests of gradients: each kind as the compiler gets it (MLIR) and as
// the oracle has it (a function and its derivatives, by hand).
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/GradientCases.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace flashc;
using namespace flashc::reference;

namespace {
/// One kind, before it is put into a problem.
struct Recipe {
  std::vector<Capture> captures;
  /// Ops from %s, %b, %h, %i, %j and %c0, %c1, ... to %r.
  std::string body;
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)> score;
  std::function<ScoreDerivative(double, int64_t, int64_t, int64_t, int64_t)>
      derivative;
};

Capture drawCapture(std::string name, std::vector<int64_t> shape,
                    Random &random, double mean, double deviation,
                    Element element = Element::F32) {
  Capture capture{std::move(name), std::move(shape), {}, element};
  int64_t size = 1;
  for (int64_t n : capture.shape)
    size *= n;
  for (int64_t e = 0; e < size; ++e)
    capture.data.push_back(
        roundTo(element, float(mean + deviation * random.normal())));
  return capture;
}

std::string typeOf(const Capture &capture) {
  std::string dims;
  for (size_t i = 0; i < capture.shape.size(); ++i)
    dims += "?x";
  return "tensor<" + dims + elementName(capture.element).str() + ">";
}

/// %x = c0[indices] added to the score.
Recipe additive(Capture capture, std::string indices,
                std::function<int64_t(int64_t, int64_t, int64_t, int64_t)> at) {
  Recipe recipe;
  bool isWide = capture.element == Element::F32;
  recipe.body = fmt::format("%{} = tensor.extract %c0[{}] : {}\n",
                            isWide ? "x" : "narrow", indices, typeOf(capture));
  if (!isWide)
    recipe.body += fmt::format("%x = arith.extf %narrow : {} to f32\n",
                               elementName(capture.element).str());
  recipe.body += "%r = arith.addf %s, %x : f32\n";
  recipe.score = [data = capture.data, at](double s, int64_t b, int64_t h,
                                           int64_t i, int64_t j) {
    return s + double(data[at(b, h, i, j)]);
  };
  recipe.derivative = [at](double, int64_t b, int64_t h, int64_t i, int64_t j) {
    return ScoreDerivative{1, {{0, at(b, h, i, j), 1}}};
  };
  recipe.captures.push_back(std::move(capture));
  return recipe;
}

/// Distance j - i as f32 in %df.
constexpr const char *kDistance = "%d = arith.subi %j, %i : index\n"
                                  "%di = arith.index_cast %d : index to i32\n"
                                  "%df = arith.sitofp %di : i32 to f32\n";

Recipe slopes(const AttentionProblem &p, Random &random) {
  Recipe recipe;
  recipe.captures.push_back(
      drawCapture("slopes", {p.heads()}, random, 0.02, 0.01));
  recipe.body = std::string(kDistance) +
                "%m = tensor.extract %c0[%h] : tensor<?xf32>\n"
                "%x = arith.mulf %m, %df : f32\n"
                "%r = arith.addf %s, %x : f32\n";
  recipe.score = [data = recipe.captures[0].data](double s, int64_t, int64_t h,
                                                  int64_t i, int64_t j) {
    return s + double(data[h]) * double(j - i);
  };
  recipe.derivative = [](double, int64_t, int64_t h, int64_t i, int64_t j) {
    return ScoreDerivative{1, {{0, h, double(j - i)}}};
  };
  return recipe;
}

/// 30 tanh(t[h] s / 30)
Recipe softCap(const AttentionProblem &p, Random &random) {
  Recipe recipe;
  recipe.captures.push_back(
      drawCapture("temperature", {p.heads()}, random, 1, 0.2));
  recipe.body = "%cap = arith.constant 30.0 : f32\n"
                "%t = tensor.extract %c0[%h] : tensor<?xf32>\n"
                "%u = arith.mulf %t, %s : f32\n"
                "%y = arith.divf %u, %cap : f32\n"
                "%z = math.tanh %y : f32\n"
                "%r = arith.mulf %cap, %z : f32\n";
  auto data = recipe.captures[0].data;
  recipe.score = [data](double s, int64_t, int64_t h, int64_t, int64_t) {
    return 30 * std::tanh(double(data[h]) * s / 30);
  };
  recipe.derivative = [data](double s, int64_t, int64_t h, int64_t, int64_t) {
    double w = std::tanh(double(data[h]) * s / 30);
    double slope = 1 - w * w;
    return ScoreDerivative{slope * data[h], {{0, h, slope * s}}};
  };
  return recipe;
}

constexpr int64_t kReach = 20;

/// A table of 41 distances; those further away read its ends.
Recipe relative(Random &random) {
  auto at = [](int64_t, int64_t, int64_t i, int64_t j) {
    return std::clamp<int64_t>(j - i + kReach, 0, 2 * kReach);
  };
  Recipe recipe =
      additive(drawCapture("table", {2 * kReach + 1}, random, 0, 1), "%e", at);
  recipe.body = "%d = arith.subi %j, %i : index\n"
                "%reach = arith.constant 20 : index\n"
                "%e = arith.addi %d, %reach : index\n" +
                recipe.body;
  return recipe;
}

/// s * gate(t0[b]) + t1[j mod 3] * log(1 + exp(s)) - t1[h], where t1 is read at
/// two places and rows of t1 past the end are the last one.
Recipe mixed(const AttentionProblem &p, Random &random) {
  Recipe recipe;
  recipe.captures.push_back(
      drawCapture("gates", {std::max<int64_t>(p.batch(), 1)}, random, 0, 1));
  recipe.captures.push_back(drawCapture("t", {3}, random, 0, 0.3));
  recipe.body = "%one = arith.constant 1.0 : f32\n"
                "%three = arith.constant 3 : index\n"
                "%a = tensor.extract %c0[%b] : tensor<?xf32>\n"
                "%an = arith.negf %a : f32\n"
                "%ae = math.exp %an : f32\n"
                "%ad = arith.addf %ae, %one : f32\n"
                "%g = arith.divf %one, %ad : f32\n"
                "%sg = arith.mulf %s, %g : f32\n"
                "%jm = arith.remui %j, %three : index\n"
                "%t1 = tensor.extract %c1[%jm] : tensor<?xf32>\n"
                "%t2 = tensor.extract %c1[%h] : tensor<?xf32>\n"
                "%se = math.exp %s : f32\n"
                "%sp = math.log1p %se : f32\n"
                "%x = math.fma %t1, %sp, %sg : f32\n"
                "%r = arith.subf %x, %t2 : f32\n";
  auto gates = recipe.captures[0].data, table = recipe.captures[1].data;
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  auto last = [](int64_t h) { return std::min<int64_t>(h, 2); };
  recipe.score = [=](double s, int64_t b, int64_t h, int64_t, int64_t j) {
    return s * sigmoid(gates[b]) +
           double(table[j % 3]) * std::log1p(std::exp(s)) - table[last(h)];
  };
  recipe.derivative = [=](double s, int64_t b, int64_t h, int64_t, int64_t j) {
    double g = sigmoid(gates[b]);
    return ScoreDerivative{g + table[j % 3] * sigmoid(s),
                           {{0, b, s * g * (1 - g)},
                            {1, j % 3, std::log1p(std::exp(s))},
                            {1, last(h), -1}}};
  };
  return recipe;
}

Recipe recipeOf(const AttentionProblem &p, ScoreKind kind, Random &random) {
  // An array holds at least one element.
  int64_t sq = std::max<int64_t>(p.sq(), 1), sk = std::max<int64_t>(p.sk(), 1);
  switch (kind) {
  case ScoreKind::Bias:
    return additive(
        drawCapture("bias", {sq, sk}, random, 0, 1), "%i, %j",
        [=](int64_t, int64_t, int64_t i, int64_t j) { return i * sk + j; });
  case ScoreKind::HeadBias:
    return additive(drawCapture("bias", {p.heads(), sq, sk}, random, 0, 1),
                    "%h, %i, %j",
                    [=](int64_t, int64_t h, int64_t i, int64_t j) {
                      return (h * sq + i) * sk + j;
                    });
  case ScoreKind::KeyBias:
    return additive(drawCapture("bias", {sk}, random, 0, 1), "%j",
                    [](int64_t, int64_t, int64_t, int64_t j) { return j; });
  case ScoreKind::Slopes:
    return slopes(p, random);
  case ScoreKind::Relative:
    return relative(random);
  case ScoreKind::SoftCap:
    return softCap(p, random);
  case ScoreKind::Mixed:
    return mixed(p, random);
  }
  return {};
}

/// The description of the problem with the recipe as its score function.
std::string moduleOf(const AttentionProblem &p, const Recipe &recipe,
                     bool staticHeads) {
  auto tensor = [&](int64_t heads, int64_t d) {
    std::string h = staticHeads ? std::to_string(heads) : "?";
    std::string type = elementName(p.dtype()).str();
    return p.layout == Layout::BSHD
               ? fmt::format("tensor<?x?x{}x{}x{}>", h, d, type)
               : fmt::format("tensor<?x{}x?x{}x{}>", h, d, type);
  };
  std::string q = tensor(p.heads(), p.headDim()),
              k = tensor(p.kvHeads(), p.headDim()),
              v = tensor(p.kvHeads(), p.valueHeadDim()),
              o = tensor(p.heads(), p.valueHeadDim());
  std::string lse = fmt::format("tensor<?x{}x?xf32>",
                                staticHeads ? std::to_string(p.heads()) : "?");
  std::string parameters, operands, types, arguments;
  for (size_t n = 0; n < recipe.captures.size(); ++n) {
    const Capture &capture = recipe.captures[n];
    parameters += fmt::format(", %{}: {}", capture.name, typeOf(capture));
    operands += fmt::format("{}%{}", n ? ", " : "", capture.name);
    types += (n ? ", " : "") + typeOf(capture);
    arguments += fmt::format(", %c{}: {}", n, typeOf(capture));
  }
  std::string lengths, clause;
  if (!p.kvLengths.empty()) {
    lengths = ", %n: tensor<?xi32>";
    clause = " kv_lengths(%n : tensor<?xi32>)";
  }
  std::string mask = p.mask.kind == MaskExpr::Kind::None
                         ? ""
                         : fmt::format(" mask({})", p.mask.attribute());
  return fmt::format(
      "func.func @attention(%q: {0}, %k: {1}, %v: {2}{3}{4}) -> ({5}, {6}) {{\n"
      "%o, %lse = attn.forward %q, %k, %v{7} captures({8} : {9}){10} "
      "scale({11:e}) layout({12}) : {0}, {1}, {2} -> ({5}, {6}) {{\n"
      "^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{13}):\n{14}"
      "attn.yield %r : f32\n}}\nreturn %o, %lse : {5}, {6}\n}}\n",
      q, k, v, lengths, parameters, o, lse, clause, operands, types, mask,
      p.scale, layoutName(p.layout).str(), arguments, recipe.body);
}
} // namespace

static void use(AttentionProblem &p, Recipe recipe, bool staticHeads) {
  p.score = recipe.score;
  p.scoreDerivative = recipe.derivative;
  p.mlir = moduleOf(p, recipe, staticHeads);
  p.captures = std::move(recipe.captures);
}

void reference::addScoreFunction(AttentionProblem &p, ScoreKind kind,
                                 Random &random, bool staticHeads) {
  use(p, recipeOf(p, kind, random), staticHeads);
}

void reference::addNarrowBias(AttentionProblem &p, Random &random, bool byBatch,
                              bool byHead) {
  int64_t heads = byHead ? p.heads() : 1, sq = p.sq(), sk = p.sk();
  std::vector<int64_t> shape;
  std::string indices;
  if (byBatch) {
    shape.push_back(p.batch());
    indices += "%b, ";
  }
  if (byHead) {
    shape.push_back(heads);
    indices += "%h, ";
  }
  shape.insert(shape.end(), {sq, sk});
  auto place = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t outer = (byBatch ? b : 0) * heads + (byHead ? h : 0);
    return (outer * sq + i) * sk + j;
  };
  use(p,
      additive(drawCapture("bias", shape, random, 0, 1, p.dtype()),
               indices + "%i, %j", place),
      /*staticHeads=*/false);
}
