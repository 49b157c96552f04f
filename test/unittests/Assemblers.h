// The assemblers of this machine, as the tools find them.
#ifndef FLASHC_TEST_UNITTESTS_ASSEMBLERS_H
#define FLASHC_TEST_UNITTESTS_ASSEMBLERS_H

#include "common/Environment.h"
#include "flashc/Target/NVPTX/Assembler.h"

namespace flashc::test {

/// Null where there is none.
inline std::unique_ptr<Assembler>
findAssembler(AssemblerKind kind = AssemblerKind::Ptxas) {
  auto found =
      openAssembler({kind, tools::findPtxCompiler(), tools::findPtxas()});
  if (found)
    return std::move(*found);
  llvm::consumeError(found.takeError());
  return nullptr;
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_ASSEMBLERS_H
