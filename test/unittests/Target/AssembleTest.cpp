// PTX to cubin: what ptxas says is passed on, and ptxas as a library makes the
// same code.
#include "flashc/Compiler/Compiler.h"
#include "unittests/Assemblers.h"

#include "unittests/Catch.h"

#include "llvm/Object/ELFObjectFile.h"

using namespace flashc;
using namespace flashc::test;

TEST_CASE("ptxas' words are in the error") {
  std::unique_ptr<Assembler> ptxas = findAssembler();
  if (!ptxas)
    FLASHC_SKIP("no ptxas");
  TargetInfo target = llvm::cantFail(lookupTarget("sm_80"));
  auto result = ptxas->assemble("not ptx\n", target);
  REQUIRE_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  CHECK_THAT(message, Catch::Matchers::Contains(
                          ptxas->name() + " refused the kernel for sm_80"));
}

TEST_CASE("registers and spills are read from ptxas' report") {
  std::unique_ptr<Assembler> ptxas = findAssembler();
  if (!ptxas)
    FLASHC_SKIP("no ptxas");
  TargetInfo target = llvm::cantFail(lookupTarget("sm_80"));
  auto result =
      ptxas->assemble(".version 8.0\n.target sm_80\n.address_size 64\n"
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
  std::unique_ptr<Assembler> ptxas = findAssembler();
  if (!ptxas)
    FLASHC_SKIP("no ptxas");
  // Without a bound on the threads ptxas cannot tell what there is to deal out.
  const char *ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                    ".visible .entry k() {\n"
                    "setmaxnreg.dec.sync.aligned.u32 24;\nret;\n}\n";
  auto result = ptxas->assemble(ptx, llvm::cantFail(lookupTarget("sm_90a")));
  REQUIRE_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  CHECK_THAT(message, Catch::Matchers::Contains(
                          " slows the kernel down for sm_90a: (C"));
  CHECK_THAT(message, Catch::Matchers::Contains("'setmaxnreg' ignored"));
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "; choose a smaller key block (--tiles)"));
}

namespace {
std::string compilePTX(const std::string &arch) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  AttentionSpec spec;
  spec.headDim = 64;
  spec.mask = "causal";
  auto module = llvm::cantFail(buildAttnModule(spec, *context));
  CompileOptions options;
  options.arch = arch;
  return llvm::cantFail(emitStage(*module, options, Stage::PTX));
}

/// The instructions of the kernel; the rest of a cubin names its maker.
std::string codeOf(const std::string &cubin) {
  auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(cubin, "cubin")));
  for (const llvm::object::SectionRef &section : file->sections())
    if (llvm::cantFail(section.getName()) == ".text.attention")
      return llvm::cantFail(section.getContents()).str();
  return "";
}

template <typename T> std::string errorOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}
} // namespace

TEST_CASE("nvPTXCompiler and ptxas of one version make the same code") {
  std::unique_ptr<Assembler> ptxas = findAssembler(),
                             library =
                                 findAssembler(AssemblerKind::NvPTXCompiler);
  if (!library)
    FLASHC_SKIP("no nvPTXCompiler");
  CHECK_THAT(library->name(), Catch::Matchers::StartsWith("nvPTXCompiler "));
  std::string version = library->name().substr(14);
  if (!ptxas || ptxas->name().find(" " + version + ".") == std::string::npos)
    FLASHC_SKIP("no ptxas of that version");
  for (std::string arch : {"sm_80", "sm_90a"}) {
    TargetInfo target = llvm::cantFail(lookupTarget(arch));
    std::string ptx = compilePTX(arch);
    Assembled one = llvm::cantFail(ptxas->assemble(ptx, target)),
              two = llvm::cantFail(library->assemble(ptx, target));
    CHECK(codeOf(one.cubin).size() > 1000);
    CHECK(codeOf(one.cubin) == codeOf(two.cubin));
    CHECK(one.registers == two.registers);
    CHECK(one.spillStores == two.spillStores);
  }
}

TEST_CASE("assemblers that are not there say where they were looked for") {
  CHECK_THAT(errorOf(openPtxas("/no/such/ptxas")),
             Catch::Matchers::StartsWith("cannot run '/no/such/ptxas': "));
  CHECK_THAT(errorOf(openPtxas("/bin/true")),
             Catch::Matchers::StartsWith("'/bin/true' does not say its version "
                                         "as ptxas does"));
  CHECK_THAT(errorOf(openNvPTXCompiler("/no/such.so")),
             Catch::Matchers::StartsWith("no nvPTXCompiler: /no/such.so: "));
  CHECK_THAT(errorOf(openNvPTXCompiler("libm.so.6")),
             Catch::Matchers::Contains("has no function nvPTXCompiler"));
  CHECK_THAT(errorOf(openAssembler({AssemblerKind::Ptxas, "", ""})),
             Catch::Matchers::StartsWith("there is no ptxas"));
  CHECK(!llvm::cantFail(openAssembler({AssemblerKind::Driver, "x", "y"})));
  CHECK(!llvm::cantFail(openAssembler({})));
  CHECK(!llvm::cantFail(openAssembler({AssemblerKind::Auto, "/no.so", "/no"})));
}
