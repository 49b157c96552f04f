// Run a compiled kernel on small arrays.
#ifndef FLASHC_TEST_FUZZ_RUNKERNEL_H
#define FLASHC_TEST_FUZZ_RUNKERNEL_H

#include "flashc/Compiler/Compiler.h"

namespace flashc::fuzz {

/// Arrays of zeros and ones, 3 queries and 21 keys where the kernel leaves that
/// open. Runs nothing where the kernel's static sizes are large. Whatever a
/// kernel reads or writes outside its arrays is for the address sanitizer.
llvm::Error runSmall(const CpuKernel &kernel, const Manifest &manifest);

} // namespace flashc::fuzz

#endif // FLASHC_TEST_FUZZ_RUNKERNEL_H
