//===- Description.cpp - A cell for the compiler and the oracle -----------===//
//
// In: a checked cell. Out: attn IR, where a score function is written as text,
// and the same problem as formulas in double.
//
//===----------------------------------------------------------------------===//
#include "Description.h"

#include "common/MaskFormula.h"

#include "flashc/Compiler/MaskText.h"
#include "flashc/Support/Error.h"

#include <cmath>

using namespace flashc;

/// The score region's ops, from %s (and %h, %i, %j, %slopes) to the score that
/// is yielded.
static std::string scoreBody(const Score &score) {
  if (score.kind == Score::Kind::Softcap)
    return fmt::format(R"(
    %up = arith.constant {:.17e} : f32
    %down = arith.constant {:.17e} : f32
    %x = arith.mulf %s, %down : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %up : f32)",
                       score.cap, 1 / score.cap);
  bool symmetric = score.kind == Score::Kind::AlibiSymmetric;
  return fmt::format(R"(
    %slope = tensor.extract %m[%h] : tensor<?xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    {}
    %r = {} : f32)",
                     symmetric ? "%a = math.absf %df : f32\n"
                                 "    %bias = arith.mulf %slope, %a : f32"
                               : "%bias = arith.mulf %slope, %df : f32",
                     symmetric ? "arith.subf %s, %bias"
                               : "arith.addf %s, %bias");
}

/// The whole function, for score functions: AttentionSpec has none.
static std::string moduleText(const Cell &cell, const Score &score,
                              mlir::Attribute mask) {
  std::string element = cell.dtype == "bf16" ? "bf16" : "f16";
  std::string q = fmt::format("tensor<?x?x?x{}x{}>", cell.dim, element),
              v = fmt::format("tensor<?x?x?x{}x{}>", cell.valueDim, element),
              lse = "tensor<?x?x?xf32>";
  bool captures = score.kind != Score::Kind::Softcap;
  std::string maskText;
  if (mask) {
    llvm::raw_string_ostream stream(maskText);
    stream << "mask(";
    mask.print(stream);
    stream << ") ";
  }
  return fmt::format(
      "func.func @attention(%q: {0}, %k: {0}, %v: {1}{2}) -> ({1}, {3}) {{\n"
      "  %o, %lse = attn.forward %q, %k, %v {4}{5}: {0}, {0}, {1} -> ({1}, {3})"
      " {{\n  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{6}):"
      "{7}\n    attn.yield %r : f32\n  }}\n  return %o, %lse : {1}, {3}\n}}\n",
      q, v, captures ? ", %slopes: tensor<?xf32>" : "", lse,
      captures ? "captures(%slopes : tensor<?xf32>) " : "", maskText,
      captures ? ", %m: tensor<?xf32>" : "", scoreBody(score));
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
flashc::buildModule(const Cell &cell, mlir::MLIRContext &context) {
  llvm::Expected<Score> score = parseScore(cell.score);
  if (!score)
    return score.takeError();
  if (score->kind == Score::Kind::None) {
    AttentionSpec spec;
    spec.headDim = cell.dim;
    spec.valueHeadDim = cell.valueDim;
    spec.dtype = cell.dtype == "bf16" ? "bf16" : "f16";
    spec.mask = cell.mask;
    return buildAttnModule(spec, context);
  }
  llvm::Expected<mlir::Attribute> mask = parseMask(cell.mask, context);
  if (!mask)
    return mask.takeError();
  return parseModule(moduleText(cell, *score, *mask), cell.name(), context);
}

std::vector<float> flashc::getSlopes(const Cell &cell) {
  std::vector<float> slopes;
  if (llvm::StringRef(cell.score).starts_with("alibi"))
    for (int64_t h = 0; h < cell.heads; ++h)
      slopes.push_back(
          float(std::exp2(-8.0 * double(h + 1) / double(cell.heads))));
  return slopes;
}

llvm::Expected<reference::AttentionProblem>
flashc::makeProblem(const Cell &cell) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  llvm::Expected<mlir::Attribute> mask = parseMask(cell.mask, *context);
  if (!mask)
    return mask.takeError();
  llvm::Expected<Score> score = parseScore(cell.score);
  if (!score)
    return score.takeError();
  reference::AttentionProblem p;
  p.scale = 1 / std::sqrt(double(cell.dim));
  p.mask = tools::toMaskExpr(*mask);
  std::vector<float> slopes = getSlopes(cell);
  if (score->kind == Score::Kind::Softcap)
    p.score = [cap = score->cap](double s, int64_t, int64_t, int64_t, int64_t) {
      return cap * std::tanh(s / cap);
    };
  else if (score->kind == Score::Kind::Alibi)
    p.score = [slopes](double s, int64_t, int64_t h, int64_t i, int64_t j) {
      return s + slopes[h] * double(j - i);
    };
  else if (score->kind == Score::Kind::AlibiSymmetric)
    p.score = [slopes](double s, int64_t, int64_t h, int64_t i, int64_t j) {
      return s - slopes[h] * double(std::abs(j - i));
    };
  auto array = [&](reference::HostTensor &t, int64_t heads, int64_t dim) {
    t.element = cell.dtype == "bf16" ? reference::Element::BF16
                                     : reference::Element::F16;
    t.shape = {cell.batch(), heads, cell.length, dim};
    t.strides = {cell.length * heads * dim, dim, heads * dim, 1};
  };
  array(p.q, cell.heads, cell.dim);
  array(p.k, cell.kvHeads, cell.dim);
  array(p.v, cell.kvHeads, cell.valueDim);
  return p;
}
