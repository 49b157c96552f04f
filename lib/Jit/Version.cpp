// The compiler's name in cache keys. A file of its own: it is compiled anew
// after every change of a source.
#include "flashc/Jit/Spec.h"

#include "SourceDigest.h"

#include "llvm/Config/llvm-config.h"

const std::string &flashc::jit::compilerVersion() {
  static const std::string version("flashc " FLASHC_VERSION
                                   " " FLASHC_SOURCE_DIGEST
                                   " LLVM " LLVM_VERSION_STRING);
  return version;
}
