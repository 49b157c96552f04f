// Kernels that were compiled before.
#include "flashc/Jit/Context.h"
#include "flashc/Support/KernelFile.h"
#include "unittests/Cache/CacheFolder.h"
#include "unittests/Catch.h"
#include "unittests/Runtime/FakeDriver.h"

#include "llvm/Support/FileSystem.h"

using namespace flashc;
using namespace flashc::jit;
using namespace flashc::test;

namespace {
KernelImage imageFor(const std::string &arch) {
  KernelImage made = test::image();
  made.arch = arch;
  made.ptx = "ptx for " + arch;
  made.cubin = "cubin for " + arch;
  made.assembler = "fake 1";
  return made;
}

std::shared_ptr<Context> onDevice(int sm) {
  auto driver = fakeDriver();
  seen.sm = sm;
  return llvm::cantFail(Context::create({}, driver));
}

std::string problemOf(const std::string &manifest) {
  return errorOf(readKernelFiles(manifest));
}
} // namespace

TEST_CASE("files: a kernel is read as it was written") {
  CacheFolder folder;
  std::string path = folder / "fwd.json";
  KernelImage made = imageFor("sm_80");
  llvm::cantFail(writeKernelFiles(path, made));
  KernelImage back = llvm::cantFail(readKernelFiles(path));
  CHECK(back.name == "fwd");
  CHECK(back.arch == "sm_80");
  CHECK(back.ptx == made.ptx);
  CHECK(back.cubin == made.cubin);
  CHECK(back.assembler == "fake 1");
  CHECK(back.manifest == made.manifest);
  CHECK(readAll(folder / "fwd.cubin") == made.cubin);
}

TEST_CASE("files: code and manifest of two runs are not mixed") {
  CacheFolder folder;
  std::string path = folder / "fwd.json";
  llvm::cantFail(writeKernelFiles(path, imageFor("sm_80")));
  writeAll(folder / "fwd.cubin", "another cubin");
  CHECK_THAT(problemOf(path), Catch::Contains("fwd.cubin' has the digest ") &&
                                  Catch::Contains("take both from one run"));
  llvm::sys::fs::remove(folder / "fwd.cubin");
  CHECK_THAT(problemOf(path),
             Catch::Contains("fwd.cubin': No such file or directory; ship the "
                             "manifest with its code beside it"));
}

TEST_CASE("files: what is no manifest says so") {
  CacheFolder folder;
  std::string path = folder / "fwd.json";
  CHECK_THAT(problemOf(path), Catch::StartsWith("cannot read '"));
  writeAll(path, "{");
  CHECK_THAT(problemOf(path), Catch::Contains("fwd.json': [1:"));
  llvm::cantFail(writeKernelFiles(path, imageFor("sm_80")));
  std::string text = readAll(path);
  auto with = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    writeAll(path, changed.replace(at, from.size(), to));
    return problemOf(path);
  };
  CHECK_THAT(with("\"arch\"", "\"ark\""),
             Catch::Contains("does not say name, arch and code"));
  CHECK_THAT(with("\"fwd.cubin\"", "\"../fwd.cubin\""),
             Catch::Contains("cubin needs a file beside the manifest"));
  KernelImage none = imageFor("sm_80");
  none.ptx = none.cubin = "";
  llvm::cantFail(writeKernelFiles(path, none));
  CHECK_THAT(problemOf(path), Catch::Contains("names no code"));
  CHECK_THAT(llvm::toString(writeKernelFiles(folder / "fwd.txt", none)),
             Catch::Contains("its name must end in .json"));
}

TEST_CASE("load: of a folder the newest that runs here") {
  CacheFolder folder;
  for (std::string arch : {"sm_80", "sm_90", "sm_90a"})
    llvm::cantFail(writeKernelFiles(folder / ("prefill." + arch + ".json"),
                                    imageFor(arch)));
  auto codeOn = [&](int sm) {
    auto context = onDevice(sm);
    auto kernel = llvm::cantFail(context->load(folder.path, "prefill"));
    for (const std::string &call : seen.calls)
      if (llvm::StringRef(call).contains(" for sm_"))
        return call;
    return std::string();
  };
  CHECK(codeOn(80) == "cubin for sm_80");
  CHECK(codeOn(86) == "ptx for sm_80");
  CHECK(codeOn(90) == "cubin for sm_90a");
  CHECK(codeOn(100) == "ptx for sm_90");
  auto old = onDevice(75);
  CHECK(errorOf(old->load(folder.path, "")) ==
        "folder '" + folder.path +
            "' has the kernel 'prefill' for sm_80, sm_90, sm_90a, but Fake 1 "
            "(sm_75) runs none of them; compile it for this target");
  CHECK_THAT(errorOf(old->load(folder.path, "decode")),
             Catch::Contains("has no kernel 'decode'; ship decode.json"));
  llvm::cantFail(writeKernelFiles(folder / "decode.json", imageFor("sm_75")));
  CHECK_THAT(errorOf(old->load(folder.path, "")),
             Catch::Contains("has kernels 'decode' and 'prefill'; say which"));
  CHECK(llvm::cantFail(old->load(folder.path, "decode"))->image().arch ==
        "sm_75");
}

TEST_CASE("load: a file is launched as a compiled kernel is") {
  CacheFolder folder;
  std::string path = folder / "fwd.json";
  llvm::cantFail(writeKernelFiles(path, imageFor("sm_80")));
  auto context = onDevice(80);
  auto kernel = llvm::cantFail(context->load(path, ""));
  llvm::cantFail(kernel->launch(bhsd(0x4000, 1, 65), nullptr));
  CHECK(countCalls("launch 2 128 81920") == 1);
}
