// Structs of the C API, which carry their own size.
#ifndef FLASHC_TEST_UNITTESTS_API_SIZED_H
#define FLASHC_TEST_UNITTESTS_API_SIZED_H

namespace flashc::test {

/// All zero, as a caller has it who sets nothing.
template <typename T> T sized() {
  T out = {};
  out.size = sizeof out;
  return out;
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_API_SIZED_H
