// From files to checked inputs. First step of flashc-run: after it, compiling
// and running may trust shapes and types.
#include "Inputs.h"
#include "CheckInputs.h"
#include "Progress.h"
#include "common/Flags.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/StringSwitch.h"

using namespace flashc;
using namespace flashc::tools;
using mlir::RankedTensorType;
using DType = NpyArray::DType;

View tools::viewOf(llvm::ArrayRef<int64_t> shape, attn::Layout layout) {
  int64_t a = shape[1], b = shape[2], d = shape[3];
  if (layout == attn::Layout::BHSD)
    return {{shape[0], a, b, d}, {a * b * d, b * d, d, 1}};
  return {{shape[0], b, a, d}, {a * b * d, d, b * d, 1}};
}

NpyArray Inputs::makeOutput() {
  llvm::SmallVector<int64_t> shape(query.shape);
  shape[3] = value.shape[3];
  return NpyArray(query.dtype, shape);
}

NpyArray Inputs::makeLse() {
  View view = queryView();
  return NpyArray(DType::F32, {view.shape[0], view.shape[1], view.shape[2]});
}

static llvm::Expected<NpyArray> read(const std::string &path) {
  Progress progress("reading " + path);
  return readNpy(path);
}

static llvm::Error readArray(NpyArray &array, const std::string &path,
                             llvm::StringRef flag) {
  if (path.empty())
    return makeError("--{} is missing; give --{}=FILE.npy", flag.str(),
                     flag.str());
  llvm::Expected<NpyArray> got = read(path);
  if (!got)
    return got.takeError();
  array = std::move(*got);
  return checkNpy(array, path, 4, {DType::F16, DType::F32, DType::U16});
}

/// A flag and an array may both say a number, but only the same one.
static llvm::Error takeFromArray(int64_t &flag, int64_t fromArray,
                                 llvm::StringRef name,
                                 const std::string &path) {
  if (isGiven(name) && flag != fromArray)
    return makeError("--{} is {}, but '{}' has {}; leave the flag out or give "
                     "another array",
                     name.str(), flag, path, fromArray);
  flag = fromArray;
  return llvm::Error::success();
}

static llvm::Expected<std::string>
dtypeFromArray(const std::string &flag, DType dtype, const std::string &path) {
  if (dtype == DType::U16 && flag != "bf16")
    return makeError("'{}' holds uint16, which is read as bfloat16 only where "
                     "that is said; give --dtype=bf16",
                     path);
  std::string actual = dtype == DType::F16   ? "f16"
                       : dtype == DType::F32 ? "f32"
                                             : "bf16";
  if (isGiven("dtype") && flag != actual)
    return makeError("--dtype is {}, but '{}' holds {}; leave the flag out or "
                     "give another array",
                     flag, path, dtypeName(dtype).str());
  return actual;
}

/// The description that flags and arrays give together.
static llvm::Error describeByArrays(AttentionSpec &spec, const Inputs &inputs,
                                    const InputPaths &paths) {
  std::optional<attn::Layout> layout = attn::symbolizeLayout(spec.layout);
  if (!layout)
    return makeError("layout is '{}', but bshd and bhsd are known; use one of "
                     "them",
                     spec.layout);
  View q = viewOf(inputs.query.shape, *layout);
  View k = viewOf(inputs.key.shape, *layout);
  llvm::Expected<std::string> dtype =
      dtypeFromArray(spec.dtype, inputs.query.dtype, paths.query);
  if (!dtype)
    return dtype.takeError();
  spec.dtype = *dtype;
  spec.kvLengths = inputs.lengths.has_value();
  if (!spec.valueHeadDim)
    spec.valueHeadDim = inputs.value.shape[3];
  if (llvm::Error e =
          takeFromArray(spec.headDim, q.shape[3], "head-dim", paths.query))
    return e;
  if (llvm::Error e = takeFromArray(spec.valueHeadDim, inputs.value.shape[3],
                                    "head-dim-v", paths.value))
    return e;
  if (llvm::Error e =
          takeFromArray(spec.heads, q.shape[1], "heads", paths.query))
    return e;
  return takeFromArray(spec.kvHeads, k.shape[1], "kv-heads", paths.key);
}

static llvm::Error readCaptures(Inputs &inputs, const InputPaths &paths) {
  const std::vector<std::string> &names = inputs.attention.captureNames;
  std::string known = names.empty() ? "there are none"
                                    : fmt::format("{}", fmt::join(names, ", "));
  for (const auto &[name, path] : paths.captures)
    if (!llvm::is_contained(names, name))
      return makeError("--capture={}={} names no captured tensor of the "
                       "description ({}); correct the name",
                       name, path, known);
  for (auto [i, name] : llvm::enumerate(names)) {
    auto given = llvm::find_if(paths.captures,
                               [&](const auto &c) { return c.first == name; });
    if (given == paths.captures.end())
      return makeError("captured tensor '{}' has no array; give "
                       "--capture={}=FILE.npy",
                       name, name);
    llvm::Expected<NpyArray> array = read(given->second);
    if (!array)
      return array.takeError();
    auto type = llvm::cast<RankedTensorType>(
        inputs.attention.forward.getCaptures()[i].getType());
    if (llvm::Error error =
            checkType(*array, type, given->second, "capture " + name))
      return error;
    if (llvm::is_contained(array->shape, 0))
      return makeError(
          "'{}' has shape {}, but a captured tensor holds at least "
          "one element; give another array",
          given->second, shapeText(array->shape));
    inputs.captures.push_back(std::move(*array));
  }
  return llvm::Error::success();
}

static llvm::Error describe(Inputs &inputs, const InputPaths &paths,
                            mlir::MLIRContext &context) {
  llvm::Expected<AttentionSpec> spec = specFromFlags();
  if (!spec)
    return spec.takeError();
  if (inputFile().empty())
    if (llvm::Error error = describeByArrays(*spec, inputs, paths))
      return error;
  auto module = inputFile().empty() ? buildAttnModule(*spec, context)
                                    : readModule(inputFile(), context);
  if (!module)
    return module.takeError();
  inputs.module = std::move(*module);
  llvm::Expected<AttnFunction> attention = findAttention(*inputs.module);
  if (!attention)
    return attention.takeError();
  inputs.attention = std::move(*attention);
  return llvm::Error::success();
}

llvm::Expected<Inputs> tools::readInputs(const InputPaths &paths,
                                         mlir::MLIRContext &context) {
  Inputs inputs;
  if (llvm::Error error = readArray(inputs.query, paths.query, "q"))
    return error;
  if (llvm::Error error = readArray(inputs.key, paths.key, "k"))
    return error;
  if (llvm::Error error = readArray(inputs.value, paths.value, "v"))
    return error;
  if (!paths.lengths.empty()) {
    llvm::Expected<NpyArray> lengths = read(paths.lengths);
    if (!lengths)
      return lengths.takeError();
    inputs.lengths = std::move(*lengths);
  }
  if (llvm::Error error = describe(inputs, paths, context))
    return error;
  attn::ForwardOp op = inputs.attention.forward;
  auto type = [](mlir::Value value) {
    return llvm::cast<RankedTensorType>(value.getType());
  };
  if (llvm::Error error =
          checkType(inputs.query, type(op.getQuery()), paths.query, "query"))
    return error;
  if (llvm::Error error =
          checkType(inputs.key, type(op.getKey()), paths.key, "key"))
    return error;
  if (llvm::Error error =
          checkType(inputs.value, type(op.getValue()), paths.value, "value"))
    return error;
  if (llvm::Error error = checkTogether(inputs, paths))
    return error;
  if (llvm::Error error = checkLengths(inputs, paths.lengths))
    return error;
  if (llvm::Error error = readCaptures(inputs, paths))
    return error;
  return inputs;
}
