// Gradients through the cache, on a device that is not there.
#include "flashc/Jit/Context.h"
#include "unittests/Cache/CacheFolder.h"
#include "unittests/Catch.h"
#include "unittests/Runtime/FakeDriver.h"

#include "llvm/Support/FileSystem.h"

using namespace flashc;
using namespace flashc::jit;
using namespace flashc::test;

namespace {
KernelSpec gradientsOf(int64_t headDim, bool deterministic = false) {
  KernelSpec spec;
  spec.attention.headDim = headDim;
  spec.attention.mask = "causal";
  spec.gradients = GradientSpec{{}, false, deterministic};
  return spec;
}

std::shared_ptr<Context> onDevice(const CacheFolder &folder,
                                  std::shared_ptr<cuda::Driver> driver) {
  ContextOptions options;
  options.cache = folder.options();
  options.assembler.kind = AssemblerKind::Driver;
  return llvm::cantFail(Context::create(options, std::move(driver)));
}

/// Arrays of one batch, two heads and 100 rows of 64.
llvm::StringMap<ArrayArg> arrays() {
  llvm::StringMap<ArrayArg> map;
  uint64_t at = 0x10000;
  for (const char *name : {"q", "k", "v", "o", "do", "dq", "dk", "dv"})
    map[name] = {at += 0x10000, {1, 2, 100, 64}, {12800, 6400, 64, 1}};
  map["lse"] = {at += 0x10000, {1, 2, 100}, {200, 100, 1}};
  return map;
}

std::vector<std::string> entries(const CacheFolder &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator
           it(folder.options().folder, error),
       end;
       it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".kernel"))
      found.push_back(it->path());
  return found;
}
} // namespace

TEST_CASE("gradients: compiled once, then at hand, then from disk") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  auto first = llvm::cantFail(context->compileGradients(gradientsOf(64)));
  CHECK(first->origin() == CacheOrigin::Compiled);
  CHECK(first->images().size() == first->manifest().kernels.size());
  CHECK(llvm::cantFail(context->compileGradients(gradientsOf(64))) == first);
  CHECK(entries(folder).size() == first->images().size());
  auto next = onDevice(folder, driver);
  auto again = llvm::cantFail(next->compileGradients(gradientsOf(64)));
  for (auto [one, other] : llvm::zip_equal(first->images(), again->images())) {
    CHECK(other.origin == CacheOrigin::Disk);
    CHECK(one.image->ptx == other.image->ptx);
    CHECK(one.image->manifest == other.image->manifest);
  }
  CHECK(again->manifest().toJSON() == first->manifest().toJSON());
  // Other kernels, though the attention is the same.
  auto ordered = llvm::cantFail(next->compileGradients(gradientsOf(64, true)));
  CHECK(ordered->origin() == CacheOrigin::Compiled);
  CHECK(ordered->manifest().deterministic);
}

TEST_CASE("gradients: an entry that is lost or damaged is made again") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto first = llvm::cantFail(
      onDevice(folder, driver)->compileGradients(gradientsOf(64)));
  std::vector<std::string> files = entries(folder);
  REQUIRE(files.size() >= 2);
  for (size_t n = 0; n < files.size(); ++n) {
    std::string bytes = readAll(files[n]);
    writeAll(files[n], n % 2 ? "" : bytes.substr(0, bytes.size() / 2));
    auto again = llvm::cantFail(
        onDevice(folder, driver)->compileGradients(gradientsOf(64)));
    for (auto [one, other] : llvm::zip_equal(first->images(), again->images()))
      CHECK(one.image->ptx == other.image->ptx);
    CHECK(readAll(files[n]) == bytes);
  }
}

TEST_CASE("gradients: all kernels are launched in order on the workspace") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  auto gradients = llvm::cantFail(context->compileGradients(gradientsOf(64)));
  context.reset(); // they live on
  size_t bytes = llvm::cantFail(gradients->workspaceBytes(arrays()));
  CHECK(bytes >= 2 * 100 * 4); // D at least
  seen.calls.clear();
  llvm::cantFail(gradients->launch(arrays(), 0x200000, nullptr));
  size_t launches = 0;
  for (const std::string &call : seen.calls)
    launches += llvm::StringRef(call).starts_with("launch");
  CHECK(launches == gradients->manifest().kernels.size());
  CHECK(llvm::toString(gradients->launch(arrays(), 0x200008, nullptr)) ==
        "the gradients' workspace is at 0x200008, but has to be at a multiple "
        "of 16 bytes; move it");
}

TEST_CASE("gradients: the two ways to ask are not mixed up") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  CHECK_THAT(errorOf(context->compile(gradientsOf(64))),
             Catch::Contains("compile it as a program"));
  KernelSpec none = gradientsOf(64);
  none.gradients.reset();
  CHECK(errorOf(context->compileGradients(none)) ==
        "the description asks for no gradients; say which");
}

TEST_CASE("gradients: without a device they are compiled and not launched") {
  CacheFolder folder;
  ContextOptions options;
  options.cache = folder.options();
  options.target = "sm_90";
  options.device = -1;
  options.assembler.kind = AssemblerKind::Driver;
  auto context = llvm::cantFail(Context::create(options));
  auto gradients = llvm::cantFail(context->compileGradients(gradientsOf(64)));
  CHECK(llvm::toString(gradients->launch(arrays(), 0, nullptr)) ==
        "the gradients were compiled for sm_90 without a device; make the "
        "context with a device to run them");
}
