//===- KernelImage.cpp - The manifest as JSON -----------------------------===//
//
// The compiler writes a manifest, the runtime and other people's launchers read
// it. Reading trusts nothing: a manifest may come from a file.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/KernelImage.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashc;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFormat("flashc-manifest-1");
static constexpr llvm::StringLiteral kKindNames[] = {
    "query", "key", "value", "kv_lengths", "capture", "output", "lse"};

llvm::StringRef flashc::paramKindName(ParamKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::optional<ParamKind> flashc::parseParamKind(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(kKindNames); ++i)
    if (kKindNames[i] == name)
      return static_cast<ParamKind>(i);
  return std::nullopt;
}

const KernelParam *Manifest::find(ParamKind kind) const {
  for (const KernelParam &param : params)
    if (param.kind == kind)
      return &param;
  return nullptr;
}

static json::Value paramToJSON(const KernelParam &param) {
  return json::Object{{"kind", paramKindName(param.kind)},
                      {"name", param.name},
                      {"element_type", param.elementType},
                      {"shape", json::Array(param.shape)},
                      {"strides", json::Array(param.strides)}};
}

json::Value Manifest::toJSON() const {
  json::Array list, maps;
  for (const KernelParam &param : params)
    list.push_back(paramToJSON(param));
  for (const TensorMap &map : tensorMaps)
    maps.push_back(json::Object{{"param", map.param}, {"rows", map.rows}});
  json::Object out{{"format", kFormat},
                   {"q_block", qBlock},
                   {"kv_block", kvBlock},
                   {"stages", stages},
                   {"warps", warps},
                   {"producer_warps", producerWarps},
                   {"persistent", persistent},
                   {"tensor_maps", std::move(maps)},
                   {"shared_bytes", sharedBytes},
                   {"registers", registers},
                   {"spill_bytes", spillBytes},
                   {"head_dim", headDim},
                   {"value_head_dim", valueHeadDim},
                   {"dtype", dtype},
                   {"alignment", alignment},
                   {"rows_alike", rowsAlike},
                   {"scale", scale},
                   {"mask", mask},
                   {"layout", layout},
                   {"params", std::move(list)}};
  if (!program.empty())
    out["program"] = program;
  return out;
}

static bool paramFromJSON(const json::Value &value, KernelParam &param,
                          json::Path path) {
  std::string kind;
  std::vector<int64_t> shape, strides;
  json::ObjectMapper map(value, path);
  if (!map || !map.map("kind", kind) || !map.map("name", param.name) ||
      !map.map("element_type", param.elementType) || !map.map("shape", shape) ||
      !map.map("strides", strides))
    return false;
  std::optional<ParamKind> parsed = parseParamKind(kind);
  if (!parsed) {
    path.field("kind").report("expected a kind of parameter such as query");
    return false;
  }
  if (!strides.empty() && strides.size() != shape.size()) {
    path.field("strides").report("expected no stride or one a dimension");
    return false;
  }
  param.kind = *parsed;
  param.shape.assign(shape.begin(), shape.end());
  param.strides.assign(strides.begin(), strides.end());
  return true;
}

namespace flashc {
/// Found by json::ObjectMapper.
static bool fromJSON(const json::Value &value, TensorMap &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("param", out.param) && map.map("rows", out.rows);
}
} // namespace flashc

/// What a bulk tensor copy can move. Source: cuTensorMapEncodeTiled in the CUDA
/// Driver API reference.
static bool checkTensorMap(const Manifest &manifest, const TensorMap &map,
                           json::Path path) {
  if (map.param < 0 || map.param >= int64_t(manifest.params.size())) {
    path.field("param").report("expected the index of one of params");
    return false;
  }
  const KernelParam &param = manifest.params[map.param];
  int64_t headDim = param.rank() == 4 ? param.shape[3] : 0;
  if (param.rank() != 4 || param.strides.size() != 4 || param.strides[3] != 1)
    path.field("param").report(
        "expected an array of rank 4 with last stride 1");
  else if (param.elementType != "f16" && param.elementType != "bf16")
    path.field("param").report("expected an array of f16 or bf16");
  else if (headDim <= 0 || headDim % 8 != 0 || headDim > 16384)
    path.field("param").report(
        "expected an array whose head dim is static, a multiple of 8 and at "
        "most 16384");
  else if (map.rows < 1 || map.rows > 256)
    path.field("rows").report("expected 1 to 256");
  else
    return true;
  return false;
}

static bool checkTensorMaps(const Manifest &manifest, json::Path path) {
  for (auto [i, map] : llvm::enumerate(manifest.tensorMaps))
    if (!checkTensorMap(manifest, map, path.field("tensor_maps").index(i)))
      return false;
  return true;
}

/// The query gives the grid, so it must be there with its three sizes; of a
/// program's kernel the program does.
static bool checkParams(const Manifest &manifest, json::Path path) {
  const KernelParam *query = manifest.find(ParamKind::Query);
  if (!manifest.program.empty() || (query && query->rank() == 4))
    return true;
  path.field("params").report("expected a query of rank 4");
  return false;
}

static bool checkNumbers(const Manifest &m, json::Path path) {
  if (m.qBlock <= 0)
    path.field("q_block").report("expected a positive number");
  else if (m.warps <= 0 || m.warps > 32)
    path.field("warps").report("expected 1 to 32");
  else if (m.producerWarps < 0 || m.producerWarps > 32 - m.warps)
    path.field("producer_warps").report("expected 0 to 32 less warps");
  else if (m.sharedBytes < 0 || m.sharedBytes > 0x7fffffff)
    path.field("shared_bytes").report("expected 0 to 2^31 - 1");
  else if (m.alignment <= 0 || m.alignment > 4096)
    path.field("alignment").report("expected 1 to 4096");
  else
    return true;
  return false;
}

static bool manifestFromJSON(const json::Value &value, Manifest &m,
                             json::Path path) {
  std::string format;
  const json::Object *object = value.getAsObject();
  json::ObjectMapper map(value, path);
  if (!map || !map.map("format", format))
    return false;
  if (format != kFormat) {
    path.field("format").report("expected flashc-manifest-1");
    return false;
  }
  if (!map.map("q_block", m.qBlock) || !map.map("kv_block", m.kvBlock) ||
      !map.map("stages", m.stages) || !map.map("warps", m.warps) ||
      !map.mapOptional("producer_warps", m.producerWarps) ||
      !map.mapOptional("persistent", m.persistent) ||
      !map.mapOptional("tensor_maps", m.tensorMaps) ||
      !map.map("shared_bytes", m.sharedBytes) ||
      !map.map("registers", m.registers) ||
      !map.map("spill_bytes", m.spillBytes) ||
      !map.map("head_dim", m.headDim) ||
      !map.map("value_head_dim", m.valueHeadDim) ||
      !map.map("dtype", m.dtype) || !map.map("alignment", m.alignment) ||
      !map.mapOptional("rows_alike", m.rowsAlike) ||
      !map.map("scale", m.scale) || !map.map("mask", m.mask) ||
      !map.map("layout", m.layout) || !map.mapOptional("program", m.program))
    return false;
  const json::Array *list = object->getArray("params");
  if (!list) {
    path.field("params").report("expected array");
    return false;
  }
  for (size_t i = 0; i < list->size(); ++i)
    if (!paramFromJSON((*list)[i], m.params.emplace_back(),
                       path.field("params").index(i)))
      return false;
  return checkNumbers(m, path) && checkParams(m, path) &&
         checkTensorMaps(m, path);
}

llvm::Expected<Manifest> Manifest::fromJSON(const json::Value &value) {
  Manifest manifest;
  json::Path::Root root("manifest");
  if (!manifestFromJSON(value, manifest, root))
    return makeError("{}; take the manifest that flashc --emit=manifest writes",
                     llvm::toString(root.getError()));
  return manifest;
}

llvm::Expected<Manifest> Manifest::parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return makeError("manifest is not JSON: {}; take the one that flashc "
                     "--emit=manifest writes",
                     llvm::toString(value.takeError()));
  return fromJSON(*value);
}
