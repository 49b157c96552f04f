//===- ShapeClass.h - Which problems share a kernel -------------*- C++ -*-===//
//
// A kernel takes any batch, lengths and strides, and any heads unless they were
// named. Three things are rounded, so that few kernels serve many problems: the
// length that the schedule is chosen for, the alignment that copies rely on,
// and the on-chip memory of a block. docs/Runtime.md has the whole table.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_JIT_SHAPECLASS_H
#define FLASHC_JIT_SHAPECLASS_H

#include <cstdint>

namespace flashc::jit {

/// The length whose schedule a problem of `length` queries or keys gets: the
/// next power of two from 512 to 65536; 0, not known, is 4096. Any length runs
/// with any schedule.
int64_t lengthClass(int64_t length);

/// The largest of 16, 8, 4 and 2 that divides `bytes`: an address, a stride or
/// several of them or-ed together. What is not even a multiple of 2 gives 2,
/// which the launch refuses.
int64_t alignmentClass(uint64_t bytes);

} // namespace flashc::jit

#endif // FLASHC_JIT_SHAPECLASS_H
