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
  // An accumulator that is written while a product is under way.
  const char *ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry slow(.param .u64 out, .param .u64 desc) {
  .reg .f32 %f<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [desc];
  ld.param.u64 %d1, [out];
  mov.f32 %f0, 0f00000000;
  mov.f32 %f1, 0f00000000;
  mov.f32 %f2, 0f00000000;
  mov.f32 %f3, 0f00000000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d0, 1, 1, 1, 0, 0;
  add.f32 %f0, %f0, %f1;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d0, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.global.f32 [%d1], %f0;
  ret;
}
)";
  auto result = assemble(ptx, llvm::cantFail(lookupTarget("sm_90a")));
  REQUIRE_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "ptxas slows the kernel down for sm_90a: (C"));
  CHECK_THAT(message, Catch::Matchers::Contains("'slow'"));
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "; choose a smaller key block (--tiles)"));
}
