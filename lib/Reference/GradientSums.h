//===- GradientSums.h - Sums with their rounding errors ---------*- C++ -*-===//
#ifndef FLASHC_LIB_REFERENCE_GRADIENTSUMS_H
#define FLASHC_LIB_REFERENCE_GRADIENTSUMS_H

#include "flashc/Reference/Problem.h"

#include <cmath>

namespace flashc::reference {

/// Rounding errors on their way to a gradient, element by element: independent
/// ones add up as squares, others as they are.
struct Errors {
  std::vector<double> squares, sums;
  explicit Errors(size_t size) : squares(size), sums(size) {}
};

/// The gradient of one capture while it is summed up.
struct CaptureSum {
  explicit CaptureSum(size_t size)
      : values(size), sizes(size), termSquares(size), errors(size), terms(size),
        fromDelta(size) {}
  std::vector<double> values;
  /// Of the terms' absolute values.
  std::vector<double> sizes;
  /// Of the terms themselves.
  std::vector<double> termSquares;
  Errors errors;
  std::vector<int64_t> terms;
  /// What the error of one row's D adds: the same error in all of its terms.
  std::vector<double> fromDelta;
  std::vector<int64_t> touched; // where fromDelta is not 0

  void add(int64_t element, double term, double error, double ofDelta) {
    values[element] += term;
    sizes[element] += std::fabs(term);
    errors.sums[element] += error;
    termSquares[element] += term * term;
    ++terms[element];
    fromDelta[element] += ofDelta;
    touched.push_back(element);
  }
  void endRow() {
    for (int64_t element : touched) {
      errors.squares[element] += fromDelta[element] * fromDelta[element];
      fromDelta[element] = 0;
    }
    touched.clear();
  }
};

inline int64_t elementsOf(const Capture &capture) {
  int64_t size = 1;
  for (int64_t n : capture.shape)
    size *= n;
  return size;
}

} // namespace flashc::reference

#endif // FLASHC_LIB_REFERENCE_GRADIENTSUMS_H
