//===- ProgramManifest.cpp - Several kernels and their workspace ----------===//
//
// The workspace rule, and the manifest of a program as JSON.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/ProgramManifest.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace flashc;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFormat("flashc-program-1");

/// Whether a capture's dimensions have the sizes that `words` say: " queries D
/// keys E", then " batch D" and " heads D" where it has such, and " one D" for
/// others. `batch` and `heads` get whether it has them.
static std::optional<bool> fitsDims(llvm::StringRef words, uint64_t number,
                                    const ProgramSizes &sizes, bool &batch,
                                    bool &heads) {
  if (number >= sizes.captureShapes.size())
    return std::nullopt;
  llvm::ArrayRef<int64_t> shape = sizes.captureShapes[number];
  bool fits = true, isWrong = false;
  auto expect = [&](llvm::StringRef word, int64_t size) {
    uint64_t dim = 0;
    if (!words.consume_front(word))
      return false;
    isWrong |= words.consumeInteger(10, dim) || dim >= shape.size();
    fits &= !isWrong && shape[dim] == size;
    return true;
  };
  isWrong |= !expect(" queries ", sizes.queries);
  isWrong |= !expect(" keys ", sizes.keys);
  batch = expect(" batch ", sizes.batch);
  heads = expect(" heads ", sizes.heads);
  while (expect(" one ", 1))
    ;
  if (isWrong || !words.empty())
    return std::nullopt;
  return fits;
}

/// "N" or "N unless queries D keys E", and " one F" for other dimensions.
static std::optional<int64_t> sizeOfCapture(llvm::StringRef words,
                                            const ProgramSizes &sizes) {
  uint64_t number = 0;
  if (words.consumeInteger(10, number) || number >= sizes.captures.size())
    return std::nullopt;
  if (words.empty())
    return sizes.captures[number];
  if (!words.consume_front(" unless"))
    return std::nullopt;
  bool batch = false, heads = false;
  std::optional<bool> fits = fitsDims(words, number, sizes, batch, heads);
  if (!fits || batch || heads)
    return std::nullopt;
  return *fits ? 0 : sizes.captures[number];
}

/// "Q K of capture N" and its dimensions: the rows of tiles of Q queries that
/// stand in blocks of K keys, or none where nothing is summed up in them.
static std::optional<int64_t> rowsOfTiles(llvm::StringRef words,
                                          const ProgramSizes &sizes) {
  uint64_t queries = 0, keys = 0, number = 0;
  constexpr uint64_t kMost = 1 << 20;
  if (words.consumeInteger(10, queries) || !words.consume_front(" ") ||
      words.consumeInteger(10, keys) || !words.consume_front(" of capture ") ||
      words.consumeInteger(10, number) || queries < 1 || keys < 1 ||
      queries > kMost || keys > kMost)
    return std::nullopt;
  bool batch = false, heads = false;
  std::optional<bool> fits = fitsDims(words, number, sizes, batch, heads);
  if (!fits)
    return std::nullopt;
  bool isShared = !heads || (!batch && sizes.batch != 1);
  if (!*fits || !isShared)
    return 0;
  return int64_t(llvm::divideCeil(sizes.queries, queries) *
                 llvm::alignTo(sizes.keys, keys));
}

static std::optional<int64_t> sizeOf(llvm::StringRef word,
                                     const ProgramSizes &sizes) {
  int64_t number = 0;
  if (!word.getAsInteger(10, number))
    return number;
  if (word.consume_front("capture "))
    return sizeOfCapture(word, sizes);
  if (word.consume_front("tiles "))
    return rowsOfTiles(word, sizes);
  if (word.consume_front("queries up to ")) {
    if (word.getAsInteger(10, number) || number < 1)
      return std::nullopt;
    // One block at least, since the first is loaded before the loop over them.
    return int64_t(llvm::alignTo(std::max<int64_t>(sizes.queries, 1), number));
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
                       "capture N with N below {}, capture N unless queries D "
                       "keys E one F or tiles Q K of capture N queries D keys "
                       "E batch B heads H one F with dimensions of it, or a "
                       "number; correct the manifest",
                       workspace.name, word, sizes.captures.size());
    result.push_back(*size);
  }
  return result;
}

llvm::Expected<int64_t> flashc::countElements(llvm::StringRef name,
                                              llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool isTooLarge = false;
  for (int64_t size : shape)
    isTooLarge |= llvm::MulOverflow(count, size, count);
  if (isTooLarge || count > int64_t(1) << 60)
    return makeError("array '{}' of shape ({}) has more elements than memory; "
                     "give the sizes of its dimensions",
                     name.str(), fmt::join(shape, ", "));
  return count;
}

namespace {
/// The shape that an array of a problem has, but for its last dimension.
struct WantedShape {
  llvm::StringRef name;
  size_t rank;
  bool isKey;
};
} // namespace

static constexpr WantedShape kWanted[] = {
    {"q", 4, false},  {"k", 4, true},    {"v", 4, true},     {"o", 4, false},
    {"do", 4, false}, {"lse", 3, false}, {"dlse", 3, false}, {"dq", 4, false},
    {"dk", 4, true},  {"dv", 4, true}};

static llvm::Error checkShape(const WantedShape &want,
                              llvm::ArrayRef<int64_t> shape,
                              const ProgramSizes &s) {
  if (shape.size() != want.rank)
    return makeError("array '{}' has rank {}, but needs {} (batch, head, "
                     "length{}); reshape it",
                     want.name.str(), shape.size(), want.rank,
                     want.rank == 4 ? ", head dim" : "");
  const int64_t sizes[] = {s.batch, want.isKey ? s.kvHeads : s.heads,
                           want.isKey ? s.keys : s.queries};
  for (size_t dim = 0; dim < 3; ++dim)
    if (shape[dim] != sizes[dim])
      return makeError("array '{}': dimension {} has size {}, but {} is "
                       "needed beside the other arrays; pass arrays of one "
                       "problem",
                       want.name.str(), dim, shape[dim], sizes[dim]);
  return llvm::Error::success();
}

llvm::Expected<ProgramSizes> flashc::problemSizes(
    const ProgramManifest &manifest,
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef)>
        shapeOf) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  auto lookUp =
      [&](llvm::StringRef name) -> llvm::Expected<llvm::ArrayRef<int64_t>> {
    std::optional<llvm::ArrayRef<int64_t>> shape = shapeOf(name);
    if (!shape)
      return makeError("the gradients take the array '{}', but there is none "
                       "of that name; pass it",
                       name.str());
    for (auto [dim, size] : llvm::enumerate(*shape))
      if (size < 0 || size > kMost)
        return makeError("array '{}': dimension {} has size {}, but sizes are "
                         "from 0 to 2^31 - 1; correct it",
                         name.str(), dim, size);
    return *shape;
  };
  ProgramSizes sizes;
  for (llvm::StringRef name : {"q", "k"}) {
    auto shape = lookUp(name);
    if (!shape)
      return shape.takeError();
    if (shape->size() != 4)
      return makeError("array '{}' has rank {}, but needs 4 (batch, head, "
                       "length, head dim); reshape it",
                       name.str(), shape->size());
    sizes.batch = (*shape)[0];
    bool isQuery = name == "q";
    (isQuery ? sizes.heads : sizes.kvHeads) = (*shape)[1];
    (isQuery ? sizes.queries : sizes.keys) = (*shape)[2];
  }
  for (size_t i = 0; i < manifest.captures.size(); ++i) {
    std::string name = "capture" + std::to_string(i);
    auto shape = lookUp(name);
    if (!shape)
      return shape.takeError();
    llvm::Expected<int64_t> count = countElements(name, *shape);
    if (!count)
      return count.takeError();
    sizes.captures.push_back(*count);
    sizes.captureShapes.emplace_back(shape->begin(), shape->end());
  }
  if (sizes.kvHeads == 0 ? sizes.heads != 0 : sizes.heads % sizes.kvHeads != 0)
    return makeError("{} query heads cannot share {} key heads; make the first "
                     "a multiple of the second",
                     sizes.heads, sizes.kvHeads);
  for (const WantedShape &want : kWanted)
    if (auto shape = shapeOf(want.name)) // those that are needed are asked for
      if (llvm::Error error = checkShape(want, *shape, sizes))
        return std::move(error);
  for (int64_t number : manifest.gradients) {
    std::string name = ProgramManifest::gradientOf(number);
    auto shape = shapeOf(name);
    if (shape &&
        (shape->size() != 1 || (*shape)[0] != sizes.captures[size_t(number)]))
      return makeError("array '{}' has shape ({}), but its capture has {} "
                       "elements; give it as many, flat",
                       name, fmt::join(*shape, ", "),
                       sizes.captures[size_t(number)]);
  }
  auto lengths = shapeOf("kv_lengths");
  if (lengths && (lengths->size() != 1 || (*lengths)[0] != sizes.batch))
    return makeError("array 'kv_lengths' has {} lengths, but there are {} "
                     "batches; give one for each",
                     lengths->size() == 1 ? (*lengths)[0] : 0, sizes.batch);
  return sizes;
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
        {"waits", kernel.waits},
        {"shared_bytes", kernel.sharedBytes}});
  for (const Workspace &workspace : workspaces)
    workspaceList.push_back(
        json::Object{{"name", workspace.name},
                     {"element_type", workspace.elementType},
                     {"sizes", json::Array(workspace.sizes)},
                     {"zeroed", workspace.zeroed}});
  return json::Object{{"format", kFormat},
                      {"kernels", std::move(kernelList)},
                      {"workspaces", std::move(workspaceList)},
                      {"captures", json::Array(captures)},
                      {"capture_types", json::Array(captureTypes)},
                      {"gradients", json::Array(gradients)},
                      {"zeroed_gradients", json::Array(zeroedGradients)},
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

namespace flashc {
// Found by json::ObjectMapper.
static bool fromJSON(const json::Value &value, GridPlace &out,
                     json::Path path) {
  if (value.getAsNull()) {
    out = {};
    return true;
  }
  std::vector<int64_t> place;
  if (!fromJSON(value, place, path))
    return false;
  if (place.size() != 2 || place[0] < 0 || place[1] < 0 || place[1] > 3) {
    path.report("expected null, or the index of an argument and a dimension");
    return false;
  }
  out = {place[0], place[1]};
  return true;
}

static bool fromJSON(const json::Value &value, ProgramKernel &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("name", out.name) ||
      !map.map("arguments", out.arguments) || !map.map("warps", out.warps) ||
      !map.map("shared_bytes", out.sharedBytes) || !map.map("waits", out.waits))
    return false;
  const json::Value *grid = value.getAsObject()->get("grid");
  if (!grid) {
    path.field("grid").report("expected object");
    return false;
  }
  json::ObjectMapper gridMap(*grid, path.field("grid"));
  if (!gridMap || !gridMap.map("batch", out.batch) ||
      !gridMap.map("heads", out.heads) || !gridMap.map("blocks", out.blocks) ||
      !gridMap.map("rows", out.rows))
    return false;
  for (auto [place, name] : {std::pair(&out.batch, "batch"),
                             {&out.heads, "heads"},
                             {&out.blocks, "blocks"}})
    if (place->param >= int64_t(out.arguments.size())) {
      path.field("grid").field(name).report("expected one of the arguments");
      return false;
    }
  if (out.rows < 1) {
    path.field("grid").field("rows").report("expected a positive number");
    return false;
  }
  return true;
}

static bool fromJSON(const json::Value &value, Workspace &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", out.name) &&
         map.map("element_type", out.elementType) &&
         map.map("sizes", out.sizes) && map.map("zeroed", out.zeroed);
}

static bool fromJSON(const json::Value &value, ProgramManifest &m,
                     json::Path path) {
  std::string format;
  json::ObjectMapper map(value, path);
  if (!map || !map.map("format", format))
    return false;
  if (format != kFormat) {
    path.field("format").report("expected flashc-program-1");
    return false;
  }
  if (!map.map("kernels", m.kernels) || !map.map("workspaces", m.workspaces) ||
      !map.map("captures", m.captures) ||
      !map.map("capture_types", m.captureTypes) ||
      !map.map("gradients", m.gradients) ||
      !map.map("zeroed_gradients", m.zeroedGradients) ||
      !map.map("dlse", m.lseGradient) || !map.map("kv_lengths", m.kvLengths) ||
      !map.map("deterministic", m.deterministic) ||
      !map.map("head_dim", m.headDim) ||
      !map.map("value_head_dim", m.valueHeadDim) ||
      !map.map("dtype", m.dtype) || !map.map("scale", m.scale) ||
      !map.map("mask", m.mask) || !map.map("layout", m.layout))
    return false;
  if (m.kernels.empty()) {
    path.field("kernels").report("expected one or more");
    return false;
  }
  if (m.captureTypes.size() != m.captures.size()) {
    path.field("capture_types").report("expected one for each of captures");
    return false;
  }
  for (auto [name, numbers] : {std::pair("gradients", &m.gradients),
                               {"zeroed_gradients", &m.zeroedGradients}})
    for (auto [i, number] : llvm::enumerate(*numbers))
      if (number < 0 || number >= int64_t(m.captures.size())) {
        path.field(name).index(i).report(
            "expected the index of one of captures");
        return false;
      }
  return true;
}
} // namespace flashc

std::string ProgramManifest::gradientOf(int64_t capture) {
  return "dcapture" + std::to_string(capture);
}

size_t ProgramManifest::getGradientBytes(int64_t capture,
                                         const ProgramSizes &sizes) const {
  size_t bytes = captureTypes[size_t(capture)] == "f32" ? 4 : 2;
  return bytes * size_t(sizes.captures[size_t(capture)]);
}

llvm::Expected<ProgramManifest> ProgramManifest::parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return makeError("program manifest is not JSON: {}; take the one that "
                     "flashc --backward --emit=manifest writes",
                     llvm::toString(value.takeError()));
  ProgramManifest manifest;
  json::Path::Root root("program");
  if (!fromJSON(*value, manifest, root))
    return makeError("{}; take the manifest that flashc --backward "
                     "--emit=manifest writes",
                     llvm::toString(root.getError()));
  return manifest;
}
