// Changes to a text that keep most of it well formed.
#ifndef FLASHC_TEST_FUZZ_MUTATE_H
#define FLASHC_TEST_FUZZ_MUTATE_H

#include "fuzz/Random.h"

namespace flashc::fuzz {

/// One to eight changes: tokens replaced by one of the same kind, removed,
/// doubled or taken from elsewhere in `pool`, lines moved, and bytes flipped.
std::string mutate(const std::string &text,
                   const std::vector<std::string> &pool, Random &random);

/// Bytes flipped, removed, inserted, or cut off.
std::string mutateBytes(std::string bytes, Random &random);

} // namespace flashc::fuzz

#endif // FLASHC_TEST_FUZZ_MUTATE_H
