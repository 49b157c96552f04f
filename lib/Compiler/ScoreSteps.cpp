// The scalar ops that a score function may hold, in double and in integers that
// wrap: one row of a table for each. Used by ScoreFunction.cpp only.
#include "ScoreFloats.h"
#include "flashc/Compiler/ScoreFunction.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace flashc;

using Number = ScoreFunction::Number;
using Step = ScoreFunction::Step;

namespace {
/// On sign-extended values; the result is wrapped by the caller.
using Integer2 = int64_t (*)(int64_t, int64_t);

uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }
} // namespace

// Divisors are constants other than 0 and -1 (verified), so that nothing traps.
static Integer2 integer(StringRef name) {
  static const llvm::StringMap<Integer2> table = {
      {"arith.addi", [](int64_t a, int64_t b) { return int64_t(u(a) + u(b)); }},
      {"arith.subi", [](int64_t a, int64_t b) { return int64_t(u(a) - u(b)); }},
      {"arith.muli", [](int64_t a, int64_t b) { return int64_t(u(a) * u(b)); }},
      {"arith.andi", [](int64_t a, int64_t b) { return a & b; }},
      {"arith.ori", [](int64_t a, int64_t b) { return a | b; }},
      {"arith.xori", [](int64_t a, int64_t b) { return a ^ b; }},
      {"arith.maxsi", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"arith.minsi", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"arith.divsi", [](int64_t a, int64_t b) { return a / b; }},
      {"arith.remsi", [](int64_t a, int64_t b) { return a % b; }},
      {"arith.floordivsi", llvm::divideFloorSigned},
      {"arith.ceildivsi", llvm::divideCeilSigned},
  };
  return table.lookup(name);
}

// The same on zero-extended values.
static Integer2 unsignedInteger(StringRef name) {
  static const llvm::StringMap<Integer2> table = {
      {"arith.maxui",
       [](int64_t a, int64_t b) { return int64_t(std::max(u(a), u(b))); }},
      {"arith.minui",
       [](int64_t a, int64_t b) { return int64_t(std::min(u(a), u(b))); }},
      {"arith.divui",
       [](int64_t a, int64_t b) { return int64_t(u(a) / u(b)); }},
      {"arith.remui",
       [](int64_t a, int64_t b) { return int64_t(u(a) % u(b)); }},
      {"arith.ceildivui",
       [](int64_t a, int64_t b) {
         return int64_t(u(a) / u(b) + (u(a) % u(b) != 0));
       }},
      {"arith.shrui",
       [](int64_t a, int64_t b) { return u(b) > 63 ? 0 : int64_t(u(a) >> b); }},
      {"arith.shli",
       [](int64_t a, int64_t b) { return u(b) > 63 ? 0 : int64_t(u(a) << b); }},
  };
  return table.lookup(name);
}

static unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}
static int64_t wrap(int64_t value, unsigned width) {
  return llvm::SignExtend64(u(value), width);
}
static int64_t zeroExtend(int64_t value, unsigned width) {
  return width == 64 ? value : value & ((int64_t(1) << width) - 1);
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

static Step castStep(Operation &op, unsigned from, unsigned result) {
  Type source = op.getOperand(0).getType(), target = op.getResult(0).getType();
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return [=](Number *r) { r[result] = r[from]; };
  if (isa<arith::SIToFPOp>(op))
    return [=](Number *r) { r[result].real = double(r[from].integer); };
  if (isa<arith::UIToFPOp>(op))
    return [=, width = widthOf(source)](Number *r) {
      r[result].real = double(u(zeroExtend(r[from].integer, width)));
    };
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return [=, width = widthOf(target)](Number *r) {
      // Out of range has no meaning; the clamp keeps the conversion defined.
      double x = r[from].real;
      x = std::isnan(x) ? 0 : std::min(std::max(x, -0x1p62), 0x1p62);
      r[result].integer = wrap(int64_t(x), width);
    };
  if (isa<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>(op))
    return [=, width = widthOf(target)](Number *r) {
      r[result].integer = wrap(r[from].integer, width);
    };
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return [=, width = widthOf(source), to = widthOf(target)](Number *r) {
      r[result].integer = wrap(zeroExtend(r[from].integer, width), to);
    };
  return nullptr;
}

/// Bits of f32 and i32; other widths have no meaning in double.
static Step bitcastStep(Operation &op, unsigned from, unsigned result) {
  Type source = op.getOperand(0).getType(), target = op.getResult(0).getType();
  if (source.isF32() && target.isInteger(32))
    return [=](Number *r) {
      r[result].integer = std::bit_cast<int32_t>(float(r[from].real));
    };
  if (source.isInteger(32) && target.isF32())
    return [=](Number *r) {
      r[result].real = std::bit_cast<float>(int32_t(r[from].integer));
    };
  return nullptr;
}

/// math.isnan and its like.
static Step classifyStep(Operation &op, unsigned from, unsigned result) {
  bool (*test)(double) = nullptr;
  if (isa<math::IsNaNOp>(op))
    test = [](double x) { return std::isnan(x); };
  else if (isa<math::IsInfOp>(op))
    test = [](double x) { return std::isinf(x); };
  else if (isa<math::IsFiniteOp>(op))
    test = [](double x) { return std::isfinite(x); };
  if (!test)
    return nullptr;
  return [=](Number *r) { r[result].integer = -int64_t(test(r[from].real)); };
}

static Step compareStep(Operation &op, ArrayRef<unsigned> operands,
                        unsigned result) {
  unsigned a = operands[0], b = operands[1];
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return [=, predicate = cmp.getPredicate()](Number *r) {
      r[result].integer = -int64_t(compare(predicate, r[a].real, r[b].real));
    };
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return [=, predicate = cmp.getPredicate(),
            width = widthOf(op.getOperand(0).getType())](Number *r) {
      llvm::APInt x(64, u(wrap(r[a].integer, width)));
      llvm::APInt y(64, u(wrap(r[b].integer, width)));
      r[result].integer = -int64_t(arith::applyCmpPredicate(predicate, x, y));
    };
  return nullptr;
}

static Step integerStep(Operation &op, ArrayRef<unsigned> operands,
                        unsigned result) {
  StringRef name = op.getName().getStringRef();
  unsigned a = operands[0], b = operands[1];
  Type type = op.getResult(0).getType();
  if (!type.isIntOrIndex())
    return nullptr;
  unsigned width = widthOf(type);
  if (isa<arith::ShRSIOp>(op))
    return [=](Number *r) {
      int64_t by = zeroExtend(r[b].integer, width);
      r[result].integer = r[a].integer >> (by < 0 || by > 63 ? 63 : by);
    };
  if (Integer2 f = integer(name))
    return [=](Number *r) {
      r[result].integer = wrap(f(r[a].integer, r[b].integer), width);
    };
  if (Integer2 f = unsignedInteger(name))
    return [=](Number *r) {
      r[result].integer = wrap(
          f(zeroExtend(r[a].integer, width), zeroExtend(r[b].integer, width)),
          width);
    };
  return nullptr;
}

Step flashc::scoreStep(Operation &op, ArrayRef<unsigned> operands,
                       unsigned result) {
  StringRef name = op.getName().getStringRef();
  if (isa<arith::SelectOp>(op))
    return [=, c = operands[0], a = operands[1], b = operands[2]](Number *r) {
      r[result] = r[c].integer ? r[a] : r[b];
    };
  if (isa<math::FmaOp>(op))
    return [=, a = operands[0], b = operands[1], c = operands[2]](Number *r) {
      r[result].real = std::fma(r[a].real, r[b].real, r[c].real);
    };
  if (isa<math::ClampFOp>(op))
    return
        [=, x = operands[0], low = operands[1], high = operands[2]](Number *r) {
          r[result].real =
              std::fmin(std::fmax(r[x].real, r[low].real), r[high].real);
        };
  if (operands.size() == 1) {
    unsigned a = operands[0];
    if (Real1 f = realFunction1(name))
      return [=](Number *r) { r[result].real = f(r[a].real); };
    if (isa<math::AbsIOp>(op))
      return [=, width = widthOf(op.getResult(0).getType())](Number *r) {
        int64_t x = r[a].integer;
        r[result].integer = wrap(x < 0 ? int64_t(0 - u(x)) : x, width);
      };
    if (isa<arith::BitcastOp>(op))
      return bitcastStep(op, a, result);
    if (Step step = classifyStep(op, a, result))
      return step;
    return castStep(op, a, result);
  }
  if (operands.size() != 2)
    return nullptr;
  unsigned a = operands[0], b = operands[1];
  if (Real2 f = realFunction2(name))
    return [=](Number *r) { r[result].real = f(r[a].real, r[b].real); };
  if (isa<math::FPowIOp>(op))
    return [=](Number *r) {
      r[result].real = std::pow(r[a].real, double(r[b].integer));
    };
  if (Step step = compareStep(op, operands, result))
    return step;
  return integerStep(op, operands, result);
}
