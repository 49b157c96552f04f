// From files to checked inputs. First step of flashc-run: after it, compiling
// and running may trust shapes and types.
#include "Inputs.h"
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

/// The dtype that holds an element type of the description.
static DType dtypeOf(mlir::Type type) {
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::U16;
  if (type.isF32())
    return DType::F32;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return DType::Bool;
  case 8:
    return DType::I8;
  case 16:
    return DType::I16;
  case 32:
    return DType::I32;
  default:
    return DType::I64;
  }
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

static llvm::Expected<std::string> dtypeFromArray(const std::string &flag,
                                                  DType dtype,
                                                  const std::string &path) {
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
  if (llvm::Error e = takeFromArray(spec.heads, q.shape[1], "heads", paths.query))
    return e;
  return takeFromArray(spec.kvHeads, k.shape[1], "kv-heads", paths.key);
}

/// An array beside the type of its operand.
static llvm::Error checkType(const NpyArray &array, RankedTensorType type,
                             const std::string &path, llvm::StringRef what) {
  if (llvm::Error error =
          checkNpy(array, fmt::format("'{}' ({})", path, what.str()),
                   type.getRank(), {dtypeOf(type.getElementType())}))
    return error;
  for (auto [dim, want] : llvm::enumerate(type.getShape()))
    if (!mlir::ShapedType::isDynamic(want) && want != array.shape[dim])
      return makeError("'{}' ({}) has shape {}, but the description has {} in "
                       "dimension {}; give another array or description",
                       path, what.str(), shapeText(array.shape), want, dim);
  return llvm::Error::success();
}

static llvm::Error checkSame(llvm::StringRef what, int64_t a,
                             const std::string &pathA, int64_t b,
                             const std::string &pathB) {
  if (a == b)
    return llvm::Error::success();
  return makeError("'{}' has {} {}, but '{}' has {}; make them equal (or check "
                   "--layout)",
                   pathA, a, what.str(), pathB, b);
}

/// What the types leave open, between the arrays themselves.
static llvm::Error checkTogether(Inputs &inputs, const InputPaths &paths) {
  View q = inputs.queryView(), k = inputs.keyView(), v = inputs.valueView();
  if (llvm::Error e = checkSame("batches", q.shape[0], paths.query, k.shape[0],
                                paths.key))
    return e;
  if (llvm::Error e = checkSame("batches", k.shape[0], paths.key, v.shape[0],
                                paths.value))
    return e;
  if (llvm::Error e = checkSame("key heads", k.shape[1], paths.key, v.shape[1],
                                paths.value))
    return e;
  if (llvm::Error e =
          checkSame("keys", k.shape[2], paths.key, v.shape[2], paths.value))
    return e;
  if (k.shape[1] > 0 && q.shape[1] % k.shape[1] == 0)
    return llvm::Error::success();
  return makeError("'{}' has {} heads and '{}' has {}, but the query heads must "
                   "be a multiple of the key heads; repeat or drop heads (or "
                   "check --layout)",
                   paths.query, q.shape[1], paths.key, k.shape[1]);
}

static llvm::Error checkLengths(Inputs &inputs, const std::string &path) {
  if (bool(inputs.lengths) != bool(inputs.attention.forward.getKvLengths()))
    return inputs.lengths
               ? makeError("--lengths is '{}', but the description has no "
                           "kv_lengths; leave the flag out",
                           path)
               : makeError("the description has kv_lengths, but --lengths is "
                           "missing; give --lengths=FILE.npy");
  if (!inputs.lengths)
    return llvm::Error::success();
  NpyArray &lengths = *inputs.lengths;
  if (llvm::Error error =
          checkNpy(lengths, "'" + path + "' (key lengths)", 1, {DType::I32}))
    return error;
  View k = inputs.keyView();
  if (lengths.shape[0] != k.shape[0])
    return makeError("'{}' has {} key lengths, but there are {} batches; give "
                     "one for each",
                     path, lengths.shape[0], k.shape[0]);
  for (int64_t b = 0; b < k.shape[0]; ++b)
    if (int32_t n = lengths.as<int32_t>()[b]; n < 0 || n > k.shape[2])
      return makeError("'{}' has {} at batch {}, but key lengths are from 0 to "
                       "{} (the keys of the array); correct it",
                       path, n, b, k.shape[2]);
  return llvm::Error::success();
}

static llvm::Error readCaptures(Inputs &inputs, const InputPaths &paths) {
  const std::vector<std::string> &names = inputs.attention.captureNames;
  std::string known = names.empty() ? "there are none" : fmt::format("{}", fmt::join(names, ", "));
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
      return makeError("'{}' has shape {}, but a captured tensor holds at least "
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
