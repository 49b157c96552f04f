// What can be compiled, asked of the compiler itself.
#ifndef FLASHC_TOOLS_FLASHC_SUPPORTMATRIX_H
#define FLASHC_TOOLS_FLASHC_SUPPORTMATRIX_H

#include <string>

namespace flashc::tools {

/// A table of tiles by target, element type and head dims. Each cell builds the
/// attention, verifies it and chooses its schedule as a compilation would;
/// refusals are numbered and their sentences stand below.
std::string supportMatrix(bool backward, bool deterministic);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_SUPPORTMATRIX_H
