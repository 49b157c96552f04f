//===- NpyHeader.h - What a .npy file says before its data ------*- C++ -*-===//
#ifndef FLASHC_LIB_SUPPORT_NPYHEADER_H
#define FLASHC_LIB_SUPPORT_NPYHEADER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace flashc {

inline constexpr llvm::StringLiteral kNpyMagic("\x93NUMPY");

struct NpyHeader {
  /// Byte order and type: "<f2".
  std::string descr;
  bool fortranOrder = false;
  llvm::SmallVector<int64_t> shape;
};

/// Take the magic, the version and the header off `bytes`; `name` is the file's
/// in errors.
llvm::Expected<NpyHeader> takeNpyHeader(llvm::StringRef &bytes,
                                        const std::string &name);

/// At most 60 bytes of a file for an error's text: what cannot be printed is
/// escaped.
std::string printableBytes(llvm::StringRef text);

} // namespace flashc

#endif // FLASHC_LIB_SUPPORT_NPYHEADER_H
