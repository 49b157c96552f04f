// Inputs from grammars: most of them are right, so that they get deep into the
// pipeline.
#ifndef FLASHC_TEST_FUZZ_GENERATE_H
#define FLASHC_TEST_FUZZ_GENERATE_H

#include "flashc/Compiler/Compiler.h"
#include "fuzz/Random.h"

namespace flashc::fuzz {

std::string generateMask(Random &random, int depth = 0);
AttentionSpec generateSpec(Random &random);
CompileOptions generateOptions(Random &random);
/// A module whose attn.forward has a score region of random scalar ops and
/// captured tensors.
std::string generateScoreModule(Random &random);
/// The bytes of a .npy file.
std::string generateNpy(Random &random);

} // namespace flashc::fuzz

#endif // FLASHC_TEST_FUZZ_GENERATE_H
