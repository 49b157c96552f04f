//===- KernelFile.h - A kernel shipped with an application ------*- C++ -*-===//
#ifndef FLASHC_SUPPORT_KERNELFILE_H
#define FLASHC_SUPPORT_KERNELFILE_H

#include "flashc/Support/KernelImage.h"

namespace flashc {

/// Write the manifest to `path` (NAME.json) and the code beside it, as
/// NAME.ptx and NAME.cubin, whichever there are. The manifest names kernel,
/// target and code files, with a digest of each.
llvm::Error writeKernelFiles(const std::string &path, const KernelImage &image);

/// Read them back. Fails, naming the file, where one is missing or is not the
/// one that was written with the manifest.
llvm::Expected<KernelImage> readKernelFiles(const std::string &path);

} // namespace flashc

#endif // FLASHC_SUPPORT_KERNELFILE_H
