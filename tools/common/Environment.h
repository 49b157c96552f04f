// What flashc takes from the process's environment: tools and libflashc.so look
// here, the libraries never do.
#ifndef FLASHC_TOOLS_COMMON_ENVIRONMENT_H
#define FLASHC_TOOLS_COMMON_ENVIRONMENT_H

#include <string>

namespace flashc::tools {

/// Where kernels are kept unless the user says otherwise: $FLASHC_CACHE_DIR, or
/// `flashc` under $XDG_CACHE_HOME, or under .cache in the home directory; empty
/// where there is none of these.
std::string defaultCacheFolder();

/// The path of ptxas: on $PATH, else under the CUDA toolkit's usual prefix;
/// empty if there is none.
std::string findPtxas();

/// The path of nvPTXCompiler as a shared library: beside this program or
/// library, or in ../lib of it; empty if there is none.
std::string findPtxCompiler();

} // namespace flashc::tools

#endif // FLASHC_TOOLS_COMMON_ENVIRONMENT_H
