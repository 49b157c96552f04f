// Numbers that are the same on every machine for the same seed.
#ifndef FLASHC_TEST_FUZZ_RANDOM_H
#define FLASHC_TEST_FUZZ_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flashc::fuzz {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to n - 1; n > 0.
  size_t below(size_t n) { return next() % n; }
  bool oneIn(size_t n) { return below(n) == 0; }
  template <typename T> const T &pick(const std::vector<T> &list) {
    return list[below(list.size())];
  }

private:
  uint64_t state;
};

} // namespace flashc::fuzz

#endif // FLASHC_TEST_FUZZ_RANDOM_H
