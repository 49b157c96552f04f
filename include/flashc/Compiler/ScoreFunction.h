//===- ScoreFunction.h - A score region, computed in double -----*- C++ -*-===//
#ifndef FLASHC_COMPILER_SCOREFUNCTION_H
#define FLASHC_COMPILER_SCOREFUNCTION_H

#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Support/Npy.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <vector>

namespace flashc {

/// The score region of an `attn.forward` as a function on the host: what
/// `--check` compares kernels with. All floats are double, whatever type the
/// region names, so that it has the rounding of none of the kernels; integers
/// wrap at their width and `index` has 64 bits.
class ScoreFunction {
public:
  /// One register: which member is in use is known from the type.
  union Number {
    double real;
    int64_t integer;
  };
  using Step = std::function<void(Number *registers)>;

  /// `captures` are the captured tensors in the op's order; they must outlive
  /// the function, and shapes and dtypes must fit (bf16 travels as U16). Fails
  /// on ops that have no meaning in double, by name.
  static llvm::Expected<ScoreFunction>
  create(attn::ForwardOp op, llvm::ArrayRef<const NpyArray *> captures);

  /// The new score of query `i` and key `j`. May be called by many threads.
  double operator()(double score, int64_t batch, int64_t head, int64_t i,
                    int64_t j) const;

private:
  std::vector<Step> steps;
  unsigned registerCount = 0;
  unsigned result = 0;
};

/// The gradient region of an `attn.backward`, in the same way.
class ScoreGradientFunction {
public:
  /// Derivatives of the new score: by the scaled score and by elements of
  /// captured tensors, counted row by row.
  struct Derivatives {
    double byScore = 0;
    struct ByCapture {
      int64_t capture, element;
      double value;
    };
    std::vector<ByCapture> byCaptures;
  };

  /// As `ScoreFunction::create`.
  static llvm::Expected<ScoreGradientFunction>
  create(attn::BackwardOp op, llvm::ArrayRef<const NpyArray *> captures);

  /// For query `i` and key `j`. May be called by many threads.
  Derivatives operator()(double score, int64_t batch, int64_t head, int64_t i,
                         int64_t j) const;

private:
  struct Addition {
    int64_t capture;
    unsigned value;
    std::vector<unsigned> indices;
    std::vector<int64_t> shape;
  };
  std::vector<ScoreFunction::Step> steps;
  std::vector<Addition> additions;
  unsigned registerCount = 0;
  unsigned result = 0;
};

/// What one op of a score region does: it reads registers `operands` and writes
/// register `result`. Null where the op is not known. `tensor.extract` and
/// `arith.constant` are not this function's.
ScoreFunction::Step scoreStep(mlir::Operation &op,
                              llvm::ArrayRef<unsigned> operands,
                              unsigned result);

} // namespace flashc

#endif // FLASHC_COMPILER_SCOREFUNCTION_H
