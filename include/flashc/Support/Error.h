//===- Error.h - One way to make an error -----------------------*- C++ -*-===//
//
// Every error reads `where, what was wrong with both values; what to do`, lower
// case, without a final stop.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_SUPPORT_ERROR_H
#define FLASHC_SUPPORT_ERROR_H

#include "llvm/Support/Error.h"

#include <fmt/format.h>
#include <utility>

namespace flashc {

/// An llvm::Error from an fmt format string that is checked when compiled.
template <typename... Args>
llvm::Error makeError(fmt::format_string<Args...> format, Args &&...args) {
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      fmt::format(format, std::forward<Args>(args)...).c_str());
}

} // namespace flashc

#endif // FLASHC_SUPPORT_ERROR_H
