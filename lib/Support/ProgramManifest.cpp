//===- ProgramManifest.cpp - Several kernels and their workspace ----------===//
//
// The workspace rule, and the manifest of a program as JSON.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/ProgramManifest.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

using namespace flashc;
namespace json = llvm::json;

static std::optional<int64_t> sizeOf(llvm::StringRef word,
                                     const ProgramSizes &sizes) {
  int64_t number = 0;
  if (!word.getAsInteger(10, number))
    return number;
  if (word.consume_front("capture ")) {
    if (word.getAsInteger(10, number) || number < 0 ||
        number >= int64_t(sizes.captures.size()))
      return std::nullopt;
    return sizes.captures[number];
  }
  if (word.consume_front("queries up to ")) {
    if (word.getAsInteger(10, number) || number < 1)
      return std::nullopt;
    return int64_t(llvm::alignTo(sizes.queries, number));
  }
  const std::pair<llvm::StringRef, int64_t> known[] = {
      {"batch", sizes.batch},
      {"heads", sizes.heads},
      {"kv_heads", sizes.kvHeads},
      {"queries", sizes.queries},
      {"keys", sizes.keys}};
  for (const auto &[name, size] : known)
    if (word == name)
      return size;
  return std::nullopt;
}

llvm::Expected<llvm::SmallVector<int64_t, 4>>
flashc::workspaceSizes(const Workspace &workspace, const ProgramSizes &sizes) {
  llvm::SmallVector<int64_t, 4> result;
  for (const std::string &word : workspace.sizes) {
    std::optional<int64_t> size = sizeOf(word, sizes);
    if (!size)
      return makeError("workspace '{}' has the size '{}', but sizes are batch, "
                       "heads, kv_heads, queries, queries up to N, keys, "
                       "capture N with N below {}, or a number; correct the "
                       "manifest",
                       workspace.name, word, sizes.captures.size());
    result.push_back(*size);
  }
  return result;
}

static json::Value placeToJSON(const GridPlace &place) {
  if (place.param < 0)
    return nullptr;
  return json::Array{place.param, place.dim};
}

json::Value ProgramManifest::toJSON() const {
  json::Array kernelList, workspaceList;
  for (const ProgramKernel &kernel : kernels)
    kernelList.push_back(json::Object{
        {"name", kernel.name},
        {"grid", json::Object{{"batch", placeToJSON(kernel.batch)},
                              {"heads", placeToJSON(kernel.heads)},
                              {"blocks", placeToJSON(kernel.blocks)},
                              {"rows", kernel.rows}}},
        {"arguments", json::Array(kernel.arguments)},
        {"warps", kernel.warps},
        {"producer_warps", kernel.producerWarps},
        {"shared_bytes", kernel.sharedBytes}});
  for (const Workspace &workspace : workspaces)
    workspaceList.push_back(
        json::Object{{"name", workspace.name},
                     {"element_type", workspace.elementType},
                     {"sizes", json::Array(workspace.sizes)},
                     {"zeroed", workspace.zeroed}});
  return json::Object{{"format", "flashc-program-1"},
                      {"kernels", std::move(kernelList)},
                      {"workspaces", std::move(workspaceList)},
                      {"captures", json::Array(captures)},
                      {"gradients", json::Array(gradients)},
                      {"dlse", lseGradient},
                      {"kv_lengths", kvLengths},
                      {"deterministic", deterministic},
                      {"head_dim", headDim},
                      {"value_head_dim", valueHeadDim},
                      {"dtype", dtype},
                      {"scale", scale},
                      {"mask", mask},
                      {"layout", layout}};
}
