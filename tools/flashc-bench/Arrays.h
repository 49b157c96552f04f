//===- Arrays.h - Q, K, V, O and LSE on the device --------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_ARRAYS_H
#define FLASHC_TOOLS_FLASHC_BENCH_ARRAYS_H

#include "Cell.h"

#include "flashc/Reference/Check.h"
#include "flashc/Runtime/Module.h"

namespace flashc {

/// Arrays of one element type in layout bshd, used again by every cell: the
/// shape of a cell is only another way to count the same numbers. They are
/// normal, of a period that is prime, so that rows do not repeat: with standard
/// deviation `queryScale` in Q, and 1 in K and V, so that scores are that
/// large.
class Arrays {
public:
  Arrays(const Device &device, reference::Element element, double queryScale)
      : device(device), element(element), queryScale(queryScale) {}

  /// Make room for the cell. Fails where the device has too little memory; the
  /// next, smaller cell may still fit.
  llvm::Error reserve(const Cell &cell);
  /// In the kernel's order: Q, K, V, slopes if captured, O, LSE.
  std::vector<ArrayArg> arguments(const Cell &cell) const;
  /// O and LSE become NaN, so that rows that nobody writes are seen.
  llvm::Error spoil(const Cell &cell) const;
  /// Compare O and LSE with the oracle, on as many rows as `maxWork`
  /// multiply-adds allow; its summary.
  llvm::Expected<std::string> check(const Cell &cell, int64_t maxWork) const;

private:
  enum { Query, Key, Value, Output, Lse, Slopes, Count };
  llvm::Error grow(int which, int64_t elements);
  /// The numbers of Q, K or V, again and again from the start.
  const std::vector<uint16_t> &pattern(int which) const;

  const Device &device;
  reference::Element element;
  double queryScale;
  DeviceBuffer buffers[Count];
  mutable std::vector<uint16_t> patterns[3];
};

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_ARRAYS_H
