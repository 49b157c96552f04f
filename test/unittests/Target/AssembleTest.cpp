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

TEST_CASE("a loss of performance is found in ptxas' log by its words") {
  const char *info = "ptxas info    : Compiling entry function 'k' for "
                     "'sm_90a'\n";
  const char *use = "ptxas info    : Used 168 registers, used 9 barriers\n";
  auto log = [&](std::string line) { return info + line + "\n" + use; };
  CHECK(findPerformanceLoss("").empty());
  CHECK(findPerformanceLoss(log("ptxas info    : 0 bytes gmem")).empty());
  // Not of the tensor cores.
  CHECK(findPerformanceLoss(log("ptxas warning : Potential Performance Loss: "
                                "some other thing"))
            .empty());
  std::string serialized =
      "(C7511) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources for the wgmma "
      "pipeline in the function 'k'";
  std::string ignored = "(C7507) Potential Performance Loss: 'setmaxnreg' "
                        "ignored to maintain minimum register requirements.";
  CHECK(findPerformanceLoss(log("ptxas info    : " + serialized)) ==
        serialized);
  CHECK(findPerformanceLoss(log("ptxas warning : " + serialized + "\r")) ==
        serialized);
  CHECK(findPerformanceLoss(log("ptxas info    : " + ignored)) == ignored);
  CHECK(findPerformanceLoss(log("ptxas info    : " + ignored + "\n" +
                                "ptxas info    : " + serialized)) == ignored);
  // Another ptxas' number, or none.
  CHECK(findPerformanceLoss("x (C9999) Potential Performance Loss: wgmma y") ==
        "(C9999) Potential Performance Loss: wgmma y");
  CHECK(findPerformanceLoss("Potential Performance Loss: wgmma y") ==
        "Potential Performance Loss: wgmma y");
}

TEST_CASE("a kernel that ptxas slows down is an error that names it") {
  if (findPtxas().empty())
    FLASHC_SKIP("no ptxas");
  // Without a bound on the threads ptxas cannot tell what there is to deal out.
  const char *ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                    ".visible .entry k() {\n"
                    "setmaxnreg.dec.sync.aligned.u32 24;\nret;\n}\n";
  auto result = assemble(ptx, llvm::cantFail(lookupTarget("sm_90a")));
  REQUIRE_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "ptxas slows the kernel down for sm_90a: (C"));
  CHECK_THAT(message, Catch::Matchers::Contains("'setmaxnreg' ignored"));
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "; choose a smaller key block (--tiles)"));
}
