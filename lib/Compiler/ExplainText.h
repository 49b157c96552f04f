// Numbers of the reports of `flashc --explain`.
#ifndef FLASHC_LIB_COMPILER_EXPLAINTEXT_H
#define FLASHC_LIB_COMPILER_EXPLAINTEXT_H

#include <string>

namespace flashc {

/// "12.3 M": three digits and a power of 1000.
std::string quantity(double value);

} // namespace flashc

#endif // FLASHC_LIB_COMPILER_EXPLAINTEXT_H
