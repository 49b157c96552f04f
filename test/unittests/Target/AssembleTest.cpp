// PTX to cubin: what ptxas says is passed on.
#include "flashc/Target/NVPTX.h"

#include "unittests/Catch.h"

using namespace flashc;

TEST_CASE("ptxas' words are in the error") {
  if (findPtxas().empty())
    FLASHC_SKIP("no ptxas");
  TargetInfo target = llvm::cantFail(lookupTarget("sm_80"));
  auto result = assemble("not ptx\n", target);
  REQUIRE_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  CHECK_THAT(message,
             Catch::Matchers::Contains("ptxas refused the kernel for sm_80"));
}

TEST_CASE("registers and spills are read from ptxas' report") {
  if (findPtxas().empty())
    FLASHC_SKIP("no ptxas");
  TargetInfo target = llvm::cantFail(lookupTarget("sm_80"));
  auto result = assemble(".version 8.0\n.target sm_80\n.address_size 64\n"
                         ".visible .entry k() { ret; }\n",
                         target);
  if (!result)
    FAIL(llvm::toString(result.takeError()));
  CHECK(result->cubin.size() > 100);
  CHECK(result->registers > 0);
  CHECK(result->spillStores == 0);
}
