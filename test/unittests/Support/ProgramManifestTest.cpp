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
}

TEST_CASE("workspace: an unknown word is an error") {
  for (const char *word : {"rows", "capture 2", "capture -1", "capture x",
                           "queries up to 0", ""}) {
    Workspace workspace{"w", "f32", {word}, false};
    auto result = workspaceSizes(workspace, sizes());
    REQUIRE(!result);
    CHECK(llvm::toString(result.takeError()) ==
          "workspace 'w' has the size '" + std::string(word) +
              "', but sizes are batch, heads, kv_heads, queries, queries up to "
              "N, "
              "keys, capture N with N below 2, or a number; correct the "
              "manifest");
  }
}

TEST_CASE("program manifest: what its JSON says") {
  ProgramManifest manifest;
  manifest.kernels.push_back(
      {"bwd", {1, 0}, {}, {1, 2}, 64, {"q", "k", "dq_sum"}});
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
