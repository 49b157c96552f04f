// What is in a key, and what shares one.
#include "flashc/Jit/ShapeClass.h"
#include "flashc/Jit/Spec.h"
#include "unittests/Catch.h"

#include <functional>
#include <set>

using namespace flashc;
using namespace flashc::jit;

namespace {
KernelSpec causal() {
  KernelSpec spec;
  spec.attention.headDim = 64;
  spec.attention.mask = "causal";
  return spec;
}

std::string keyText(const KernelSpec &spec, const std::string &arch = "sm_80",
                    const std::string &assembler = "ptxas 1",
                    int64_t sram = 0) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  TargetInfo target = llvm::cantFail(lookupTarget(arch, sram));
  auto module = llvm::cantFail(buildModule(spec, *context));
  CompileOptions options = optionsFor(spec, target, target.sharedBytesPerBlock);
  return llvm::cantFail(keyOf(*module, options, assembler)).text();
}
} // namespace

TEST_CASE("key: everything that changes a kernel changes it") {
  std::set<std::string> keys = {keyText(causal())};
  auto isNew = [&](std::string key) { return keys.insert(key).second; };
  CHECK(isNew(keyText(causal(), "sm_90")));
  CHECK(isNew(keyText(causal(), "sm_80", "ptxas 2")));
  CHECK(isNew(keyText(causal(), "sm_80", "ptxas 1", 65536)));
  const std::function<void(KernelSpec &)> changes[] = {
      [](KernelSpec &s) { s.attention.headDim = 128; },
      [](KernelSpec &s) { s.attention.valueHeadDim = 128; },
      [](KernelSpec &s) { s.attention.heads = 8, s.attention.kvHeads = 8; },
      [](KernelSpec &s) { s.attention.dtype = "bf16"; },
      [](KernelSpec &s) { s.attention.scale = 0.5; },
      [](KernelSpec &s) { s.attention.mask = "window(64,0)"; },
      [](KernelSpec &s) { s.attention.kvLengths = true; },
      [](KernelSpec &s) { s.attention.withLse = false; },
      [](KernelSpec &s) { s.attention.keys = 100; },
      [](KernelSpec &s) { s.attention.name = "other"; },
      [](KernelSpec &s) {
        s.attention.score = "^bb0(%s: f32, %b: index, %h: index, %i: index, "
                            "%j: index):\nattn.yield %s : f32";
      },
      [](KernelSpec &s) { s.tiles = "paper"; },
      [](KernelSpec &s) { s.stages = 1; },
      [](KernelSpec &s) { s.warps = 4; },
      [](KernelSpec &s) { s.sram = 70000; },
      [](KernelSpec &s) { s.alignment = 4; },
      [](KernelSpec &s) { s.length = 100; },
  };
  for (const auto &change : changes) {
    KernelSpec spec = causal();
    change(spec);
    CHECK(isNew(keyText(spec)));
  }
}

TEST_CASE("key: descriptions of one kernel share it") {
  std::string key = keyText(causal());
  CHECK(keyText(causal()) == key);
  KernelSpec twice = causal();
  twice.attention.mask = "causal & causal";
  CHECK(keyText(twice) == key);
  KernelSpec named = causal();
  named.alignment = 16;
  named.length = 4096;
  named.attention.valueHeadDim = 64;
  CHECK(keyText(named) == key);
  named.length = 2049; // the same class
  CHECK(keyText(named) == key);
}

TEST_CASE("key: it says which compiler") {
  CHECK_THAT(keyText(causal()), Catch::StartsWith("flashc 0."));
  CHECK_THAT(compilerVersion(), Catch::Contains(" LLVM 22."));
}

TEST_CASE("shape class: lengths and alignments are rounded") {
  CHECK(lengthClass(0) == 4096);
  CHECK(lengthClass(1) == 512);
  CHECK(lengthClass(513) == 1024);
  CHECK(lengthClass(4096) == 4096);
  CHECK(lengthClass(int64_t(1) << 40) == 65536);
  CHECK(alignmentClass(0) == 16);
  CHECK(alignmentClass(0x7f0000000008) == 8);
  CHECK(alignmentClass(12) == 4);
  CHECK(alignmentClass(6) == 2);
  CHECK(alignmentClass(3) == 2);
}

TEST_CASE("key: full specialisation takes the lengths as they are") {
  KernelSpec spec = causal();
  spec.attention.queries = spec.attention.keys = 1000;
  spec.length = 7;
  TargetInfo target = llvm::cantFail(lookupTarget("sm_80"));
  CHECK(optionsFor(spec, target, 1000).length == 1000);
  CHECK(optionsFor(spec, target, 1000).sram == 1000);
  CHECK(optionsFor(spec, target, 1000).alignment == 16);
}

TEST_CASE("score: errors have the line within the text") {
  KernelSpec spec = causal();
  spec.attention.captures = {{"slopes", "f32", {8}}};
  spec.attention.score = "^bb0(%s: f32, %b: index, %h: index, %i: index, %j: "
                         "index, %t: tensor<8xf32>):\n"
                         "%x = arith.addf %s, %h : f32\n"
                         "attn.yield %x : f32";
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(spec, *context);
  REQUIRE(!module);
  CHECK_THAT(llvm::toString(module.takeError()),
             Catch::StartsWith("score function:2:"));
  spec.attention.captures = {{"slopes", "f99", {8}}};
  CHECK_THAT(llvm::toString(buildModule(spec, *context).takeError()),
             Catch::StartsWith("element type of capture 'slopes' is 'f99'"));
}
