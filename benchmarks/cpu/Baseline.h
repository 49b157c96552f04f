// What a programmer would write by hand: the yardstick of the CPU path.
#ifndef FLASHC_BENCHMARKS_CPU_BASELINE_H
#define FLASHC_BENCHMARKS_CPU_BASELINE_H

#include <cstdint>

/// One (batch, head, query block) of attention over contiguous rows of d
/// elements; T is float or _Float16. `block` counts blocks of 64 queries.
template <typename T>
void baselineBlock(const T *q, const T *k, const T *v, T *o, int64_t sq,
                   int64_t sk, int64_t d, bool causal, int64_t block);

#endif // FLASHC_BENCHMARKS_CPU_BASELINE_H
