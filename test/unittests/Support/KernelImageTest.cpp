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

namespace {
/// As a Hopper kernel has it.
Manifest hopper() {
  Manifest m = example();
  m.warps = 8;
  m.producerWarps = 4;
  m.persistent = true;
  m.tensorMaps = {{0, 128}, {0, 64}};
  return m;
}

std::string errorOfMapped(llvm::function_ref<void(Manifest &)> change) {
  Manifest m = hopper();
  change(m);
  return errorOf(text(m));
}
} // namespace

TEST_CASE("manifest: tensor maps, persistence and producer warps") {
  Manifest m = hopper();
  CHECK(m.threads() == 384);
  CHECK(llvm::cantFail(Manifest::parse(text(m))) == m);
  CHECK_THAT(text(m), Catch::Contains("\"tensor_maps\"") &&
                          Catch::Contains("\"producer_warps\": 4") &&
                          Catch::Contains("\"persistent\": true"));
}

TEST_CASE("manifest: one from before Hopper has none of them") {
  Manifest m = example();
  llvm::json::Value json = m.toJSON();
  for (const char *name : {"tensor_maps", "producer_warps", "persistent"})
    REQUIRE(json.getAsObject()->erase(name));
  CHECK(llvm::cantFail(Manifest::fromJSON(json)) == m);
  CHECK(m.threads() == 128);
}

TEST_CASE("manifest: tensor maps that no kernel can have") {
  CHECK_THAT(errorOfMapped([](Manifest &m) { m.tensorMaps[1].param = 3; }),
             Catch::Contains("expected the index of one of params at "
                             "manifest.tensor_maps[1].param"));
  CHECK_THAT(errorOfMapped([](Manifest &m) { m.tensorMaps[0].param = 2; }),
             Catch::Contains("expected an array of rank 4 with last stride 1"));
  CHECK_THAT(errorOfMapped([](Manifest &m) { m.params[0].strides.clear(); }),
             Catch::Contains("expected an array of rank 4 with last stride 1"));
  CHECK_THAT(
      errorOfMapped([](Manifest &m) { m.params[0].elementType = "f32"; }),
      Catch::Contains("expected an array of f16 or bf16"));
  for (int64_t headDim : {-1, 0, 7, 36, 16448})
    CHECK_THAT(
        errorOfMapped([&](Manifest &m) { m.params[0].shape[3] = headDim; }),
        Catch::Contains("expected an array whose head dim is static"));
  for (int64_t rows : {0, 257})
    CHECK_THAT(errorOfMapped([&](Manifest &m) { m.tensorMaps[0].rows = rows; }),
               Catch::Contains("expected 1 to 256 at "
                               "manifest.tensor_maps[0].rows"));
  std::string json = text(hopper());
  CHECK_THAT(errorOf(replaced(json, "\"rows\"", "\"row\"")),
             Catch::Contains("tensor_maps[0]"));
  CHECK_THAT(
      errorOf(replaced(json, "\"persistent\": true", "\"persistent\": 1")),
      Catch::Contains("manifest.persistent"));
  for (int64_t warps : {-1, 25})
    CHECK_THAT(errorOfMapped([&](Manifest &m) { m.producerWarps = warps; }),
               Catch::Contains("expected 0 to 32 less warps"));
}

TEST_CASE("manifest: names of parameter kinds") {
  for (ParamKind kind : {ParamKind::Query, ParamKind::Key, ParamKind::Value,
                         ParamKind::KvLengths, ParamKind::Capture,
                         ParamKind::Output, ParamKind::Lse})
    CHECK(parseParamKind(paramKindName(kind)) == kind);
  CHECK(parseParamKind("sink") == std::nullopt);
}
