// The manifest as JSON: there and back, and what is refused.
#include "unittests/Catch.h"

#include "flashc/Support/KernelImage.h"

#include <fmt/format.h>

using namespace flashc;

namespace {
Manifest example() {
  Manifest m;
  m.params = {
      {ParamKind::Query, "query", "f16", {-1, -1, -1, 64}, {-1, -1, -1, 1}},
      {ParamKind::KvLengths, "kv_lengths", "i32", {-1}, {}},
      {ParamKind::Lse, "lse", "f32", {-1, 32, -1}, {-1, -1, 1}}};
  m.qBlock = 128;
  m.kvBlock = 64;
  m.stages = 2;
  m.warps = 4;
  m.sharedBytes = 81920;
  m.headDim = m.valueHeadDim = 64;
  m.dtype = "f16";
  m.scale = 0.125;
  m.mask = "causal";
  m.layout = "bshd";
  return m;
}

std::string text(const Manifest &m) {
  return fmt::format("{}", llvm::formatv("{0:2}", m.toJSON()).str());
}

std::string errorOf(llvm::StringRef json) {
  llvm::Expected<Manifest> m = Manifest::parse(json);
  return m ? "" : llvm::toString(m.takeError());
}

std::string replaced(std::string from, llvm::StringRef what,
                     llvm::StringRef with) {
  size_t at = from.find(what.str());
  REQUIRE(at != std::string::npos);
  return from.replace(at, what.size(), with.str());
}
} // namespace

TEST_CASE("manifest: JSON there and back") {
  llvm::Expected<Manifest> back = Manifest::parse(text(example()));
  REQUIRE(bool(back));
  CHECK(*back == example());
  CHECK(back->find(ParamKind::Lse)->shape[1] == 32);
  CHECK(back->find(ParamKind::Capture) == nullptr);
}

TEST_CASE("manifest: the error names the field") {
  std::string json = text(example());
  CHECK_THAT(errorOf("{"), Catch::Contains("manifest is not JSON"));
  CHECK_THAT(errorOf("[]"), Catch::Contains("expected object"));
  CHECK_THAT(errorOf("{}"), Catch::Contains("format"));
  CHECK_THAT(errorOf(replaced(json, "manifest-1", "manifest-9")),
             Catch::Contains("expected flashc-manifest-1"));
  CHECK_THAT(errorOf(replaced(json, "\"warps\": 4", "\"warps\": 0")),
             Catch::Contains("manifest.warps"));
  CHECK_THAT(errorOf(replaced(json, "\"q_block\": 128", "\"q_block\": \"x\"")),
             Catch::Contains("manifest.q_block"));
  CHECK_THAT(errorOf(replaced(json, "\"query\"", "\"sink\"")),
             Catch::Contains("kind"));
  CHECK_THAT(
      errorOf(replaced(json, "\"kind\": \"query\"", "\"kind\": \"key\"")),
      Catch::Contains("expected a query of rank 4"));
}

TEST_CASE("manifest: names of parameter kinds") {
  for (ParamKind kind : {ParamKind::Query, ParamKind::Key, ParamKind::Value,
                         ParamKind::KvLengths, ParamKind::Capture,
                         ParamKind::Output, ParamKind::Lse})
    CHECK(parseParamKind(paramKindName(kind)) == kind);
  CHECK(parseParamKind("sink") == std::nullopt);
}
