// The workspace rule and the manifest of a program.
#include "flashc/Support/ProgramManifest.h"

#include "unittests/Catch.h"

using namespace flashc;

static ProgramSizes sizes() {
  ProgramSizes result;
  result.batch = 2;
  result.heads = 8;
  result.kvHeads = 4;
  result.queries = 100;
  result.keys = 200;
  result.captures = {8, 20000};
  result.captureShapes = {{8}, {1, 100, 200}};
  return result;
}

TEST_CASE("workspace: sizes by words") {
  Workspace workspace{"w", "f32", {"batch", "heads", "queries", "64"}, true};
  CHECK(llvm::cantFail(workspaceSizes(workspace, sizes())) ==
        llvm::SmallVector<int64_t, 4>{2, 8, 100, 64});
  workspace.sizes = {"1", "kv_heads", "keys", "capture 1"};
  CHECK(llvm::cantFail(workspaceSizes(workspace, sizes())) ==
        llvm::SmallVector<int64_t, 4>{1, 4, 200, 20000});
  workspace.sizes = {"queries up to 64", "queries up to 100"};
  CHECK(llvm::cantFail(workspaceSizes(workspace, sizes())) ==
        llvm::SmallVector<int64_t, 4>{128, 100});
  workspace.sizes = {"capture 1 unless queries 1 keys 2",
                     "capture 1 unless queries 1 keys 2 one 0",
                     "capture 1 unless queries 2 keys 1",
                     "capture 1 unless queries 1 keys 2 one 1"};
  CHECK(llvm::cantFail(workspaceSizes(workspace, sizes())) ==
        llvm::SmallVector<int64_t, 4>{0, 0, 20000, 20000});
  workspace.sizes = {"queries up to 64", "queries up to 100"};
  ProgramSizes empty = sizes();
  empty.queries = 0;
  CHECK(llvm::cantFail(workspaceSizes(workspace, empty)) ==
        llvm::SmallVector<int64_t, 4>{64, 100});
}

TEST_CASE("workspace: rows of the tiles of a capture that is shared") {
  ProgramSizes of = sizes();
  auto rows = [&](std::vector<int64_t> shape, const std::string &dims) {
    of.captures = {1};
    of.captureShapes = {std::move(shape)};
    Workspace workspace{
        "w", "f32", {"tiles 64 128 of capture 0 " + dims}, true};
    return llvm::cantFail(workspaceSizes(workspace, of))[0];
  };
  // Two tiles of 64 queries, each with 256 rows.
  CHECK(rows({100, 200}, "queries 0 keys 1") == 512);
  CHECK(rows({200, 100}, "queries 1 keys 0") == 512);
  CHECK(rows({1, 100, 200}, "queries 1 keys 2 one 0") == 512);
  CHECK(rows({2, 100, 200}, "queries 1 keys 2 batch 0") == 512);
  CHECK(rows({8, 100, 200}, "queries 1 keys 2 heads 0") == 512);
  // Other sizes: none.
  CHECK(rows({99, 200}, "queries 0 keys 1") == 0);
  CHECK(rows({100, 201}, "queries 0 keys 1") == 0);
  CHECK(rows({2, 100, 200}, "queries 1 keys 2 one 0") == 0);
  CHECK(rows({1, 100, 200}, "queries 1 keys 2 batch 0") == 0);
  CHECK(rows({1, 100, 200}, "queries 1 keys 2 heads 0") == 0);
  // Nobody shares it: none, unless it is of all heads, however few.
  CHECK(rows({2, 8, 100, 200}, "queries 2 keys 3 batch 0 heads 1") == 0);
  of.batch = 1;
  CHECK(rows({8, 100, 200}, "queries 1 keys 2 heads 0") == 0);
  of.heads = of.kvHeads = 1;
  CHECK(rows({100, 200}, "queries 0 keys 1") == 512);
  of.queries = 0;
  CHECK(rows({0, 200}, "queries 0 keys 1") == 0);
}

TEST_CASE("workspace: an unknown word is an error") {
  for (const char *word :
       {"rows",
        "capture 2",
        "capture -1",
        "capture x",
        "capture 1 x",
        "capture 1 unless queries 1",
        "capture 1 unless queries 1 keys 3",
        "capture 1 unless queries 1 keys 2 one",
        "queries up to 0",
        "",
        "capture 1 unless queries 1 keys 2 one 0 ",
        "capture 1 unless queries -1 keys 2",
        "capture 2 unless queries 1 keys 2",
        "capture 1 unless queries 1 keys 2 heads 0",
        "tiles",
        "tiles 64 of capture 1 queries 1 keys 2",
        "tiles 64 128 of capture 2 queries 1 keys 2",
        "tiles 64 128 of capture 1 keys 2",
        "tiles 64 128 of capture 1 queries 1 keys 3",
        "tiles 0 128 of capture 1 queries 1 keys 2",
        "tiles 64 128 of capture 1 queries 1 keys 2 heads",
        "tiles 64 128 of capture 1 queries 1 keys 2 heads 0 batch 0"}) {
    Workspace workspace{"w", "f32", {word}, false};
    auto result = workspaceSizes(workspace, sizes());
    REQUIRE(!result);
    CHECK(llvm::toString(result.takeError()) ==
          "workspace 'w' has the size '" + std::string(word) +
              "', but sizes are batch, heads, kv_heads, queries, queries up to "
              "N, "
              "keys, capture N with N below 2, capture N unless queries D keys "
              "E one F or tiles Q K of capture N queries D keys E batch B "
              "heads H one F with dimensions of it, or a number; correct the "
              "manifest");
  }
}

TEST_CASE("program manifest: what its JSON says") {
  ProgramManifest manifest;
  manifest.kernels.push_back(
      {"bwd", {1, 0}, {}, {1, 2}, 64, {"q", "k", "dq_sum"}, {}});
  manifest.workspaces.push_back({"dq_sum", "f32", {"batch", "64"}, true});
  llvm::json::Value value = manifest.toJSON();
  const llvm::json::Object *kernel =
      (*value.getAsObject()->getArray("kernels"))[0].getAsObject();
  CHECK(kernel->getString("name") == llvm::StringRef("bwd"));
  CHECK(kernel->getArray("arguments")->size() == 3);
  const llvm::json::Object *grid = kernel->getObject("grid");
  CHECK(grid->getInteger("rows") == 64);
  CHECK((*grid->getArray("blocks"))[1].getAsInteger() == 2);
  CHECK(grid->get("heads")->getAsNull());
  const llvm::json::Object *workspace =
      (*value.getAsObject()->getArray("workspaces"))[0].getAsObject();
  CHECK(workspace->getBoolean("zeroed") == true);
  CHECK((*workspace->getArray("sizes"))[1].getAsString() ==
        llvm::StringRef("64"));
}

namespace {
ProgramManifest whole() {
  ProgramManifest manifest;
  manifest.kernels.push_back(
      {"bwd", {1, 0}, {}, {1, 2}, 64, {"q", "k", "dq_sum"}, {}, 8, 1024});
  manifest.workspaces.push_back({"dq_sum", "f32", {"batch", "64"}, true});
  manifest.captures = {"slopes", "bias"};
  manifest.captureTypes = {"f32", "f16"};
  manifest.gradients = {1};
  manifest.lseGradient = true;
  manifest.headDim = 64;
  manifest.valueHeadDim = 32;
  manifest.dtype = "f16";
  manifest.scale = 0.125;
  manifest.mask = "causal";
  manifest.layout = "bshd";
  return manifest;
}

std::string textOf(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}
} // namespace

TEST_CASE("program manifest: what is written is read again") {
  ProgramManifest manifest = whole();
  auto read = ProgramManifest::parse(textOf(manifest.toJSON()));
  REQUIRE(bool(read));
  CHECK(*read == manifest);
}

TEST_CASE("program manifest: what is wrong with one is said with its place") {
  auto refused = [](auto change) {
    llvm::json::Value value = whole().toJSON();
    change(*value.getAsObject());
    auto read = ProgramManifest::parse(textOf(value));
    return read ? "" : llvm::toString(read.takeError());
  };
  using Object = llvm::json::Object;
  auto kernel = [](Object &o) -> Object & {
    return *(*o.getArray("kernels"))[0].getAsObject();
  };
  const std::string advice =
      "; take the manifest that flashc --backward --emit=manifest writes";
  CHECK(refused([](Object &o) { o["format"] = "flashc-manifest-1"; }) ==
        "expected flashc-program-1 at program.format" + advice);
  CHECK(refused([](Object &o) { o.erase("kv_lengths"); }) ==
        "missing value at program.kv_lengths" + advice);
  CHECK(refused([](Object &o) { o["gradients"] = llvm::json::Array{2}; }) ==
        "expected the index of one of captures at program.gradients[0]" +
            advice);
  CHECK(refused(
            [](Object &o) { o["zeroed_gradients"] = llvm::json::Array{2}; }) ==
        "expected the index of one of captures at program.zeroed_gradients[0]" +
            advice);
  CHECK(refused([](Object &o) { o["kernels"] = llvm::json::Array{}; }) ==
        "expected one or more at program.kernels" + advice);
  CHECK(
      refused([&](Object &o) { (*kernel(o).getObject("grid"))["rows"] = 0; }) ==
      "expected a positive number at program.kernels[0].grid.rows" + advice);
  CHECK(refused([&](Object &o) {
          (*kernel(o).getObject("grid"))["batch"] = llvm::json::Array{3, 0};
        }) == "expected one of the arguments at program.kernels[0].grid.batch" +
                  advice);
  CHECK_THAT(llvm::toString(ProgramManifest::parse("{").takeError()),
             Catch::StartsWith("program manifest is not JSON"));
}
