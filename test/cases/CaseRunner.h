// The verdict on what a kernel made of a shared case.
#ifndef FLASHC_TEST_CASES_CASERUNNER_H
#define FLASHC_TEST_CASES_CASERUNNER_H

#include "flashc/Reference/Cases.h"

#include <map>
#include <string>

namespace flashc::test {

/// Cases of one key get one kernel (for one target).
std::string kernelKey(const reference::TestCase &test);

/// O as the case's layout has it, and LSE, filled with NaN so that an element
/// that is never written shows. `lse` is empty where the case asks for none.
struct Output {
  reference::HostTensor o;
  std::vector<float> lse;
};
Output makeOutput(const reference::TestCase &test);

/// A contiguous copy in the problem's layout.
reference::HostTensor denseCopy(const reference::HostTensor &tensor,
                                reference::Layout layout);

/// Looks at results one after another; remembers them for `sameAs`.
class Judge {
public:
  /// Empty if the result is right: the error rule, the case's own expectation,
  /// and bit-equality with the case that it names. Else what is wrong.
  std::string judge(const reference::TestCase &test, const Output &output);
  /// The largest rms(error) / rms(unfused error) of O so far.
  double worstRatio() const { return worst; }

private:
  std::map<std::string, Output> earlier;
  double worst = 0;
};

} // namespace flashc::test

#endif // FLASHC_TEST_CASES_CASERUNNER_H
