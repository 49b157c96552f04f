// Float ops of score functions, in double.
#ifndef FLASHC_LIB_COMPILER_SCOREFLOATS_H
#define FLASHC_LIB_COMPILER_SCOREFLOATS_H

#include "llvm/ADT/StringRef.h"

namespace flashc {

using Real1 = double (*)(double);
using Real2 = double (*)(double, double);

/// What the op called `name` does to its one or two floats; null if that is not
/// known.
Real1 realFunction1(llvm::StringRef name);
Real2 realFunction2(llvm::StringRef name);

} // namespace flashc

#endif // FLASHC_LIB_COMPILER_SCOREFLOATS_H
