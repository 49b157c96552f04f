//===- File.h - Files that are whole or absent ------------------*- C++ -*-===//
#ifndef FLASHC_SUPPORT_FILE_H
#define FLASHC_SUPPORT_FILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace flashc {

/// Write the parts one after another to `path`, through a temporary file beside
/// it that is renamed at the end: after a failure `path` is as it was. A path
/// that is there and is not a regular file (/dev/stdout, a pipe) is written
/// directly. The error names the path and the system's reason.
llvm::Error writeFile(llvm::StringRef path,
                      llvm::ArrayRef<llvm::StringRef> parts);

} // namespace flashc

#endif // FLASHC_SUPPORT_FILE_H
