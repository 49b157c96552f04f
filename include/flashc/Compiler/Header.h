//===- Header.h - A kernel inside a C or C++ program ------------*- C++ -*-===//
#ifndef FLASHC_COMPILER_HEADER_H
#define FLASHC_COMPILER_HEADER_H

#include "flashc/Support/KernelImage.h"

#include <string>

namespace flashc {

/// A C header (C99 and C++11) that holds the kernel's code and three functions:
/// NAME_load into the current CUDA context, NAME_launch, NAME_unload. A program
/// that includes it needs cuda.h and the driver, and nothing of flashc.
std::string emitHeader(const KernelImage &image);

} // namespace flashc

#endif // FLASHC_COMPILER_HEADER_H
