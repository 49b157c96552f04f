// From a plain struct to a verified module on the `attn` level.
#include "flashc/Compiler/Diagnostics.h"
#include "flashc/Compiler/MaskText.h"
#include "flashc/Compiler/Module.h"
#include "flashc/Support/Error.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace flashc;

/// Types of captures.
static llvm::Expected<Type> captureTypeOf(const CaptureSpec &capture,
                                          MLIRContext &context) {
  Type type = llvm::StringSwitch<Type>(capture.dtype)
                  .Case("f16", Float16Type::get(&context))
                  .Case("bf16", BFloat16Type::get(&context))
                  .Case("f32", Float32Type::get(&context))
                  .Case("i8", IntegerType::get(&context, 8))
                  .Case("i32", IntegerType::get(&context, 32))
                  .Case("i64", IntegerType::get(&context, 64))
                  .Default({});
  if (!type)
    return makeError("element type of capture '{}' is '{}', but f16, bf16, "
                     "f32, i8, i32 and i64 are known; use one of them",
                     capture.name, capture.dtype);
  SmallVector<int64_t> shape;
  for (int64_t size : capture.shape) {
    if (size < 0 || size >= (int64_t(1) << 31))
      return makeError("capture '{}' has a size of {}, but sizes are from 0 "
                       "(known at run time) to 2^31 - 1; give one of them",
                       capture.name, size);
    shape.push_back(size ? size : ShapedType::kDynamic);
  }
  return RankedTensorType::get(shape, type);
}

static llvm::Expected<Type> elementTypeOf(const std::string &dtype,
                                          MLIRContext &context) {
  if (dtype == "f16")
    return Float16Type::get(&context);
  if (dtype == "bf16")
    return BFloat16Type::get(&context);
  if (dtype == "f32")
    return Float32Type::get(&context);
  return makeError("element type is '{}', but f16, bf16 and f32 are known; use "
                   "one of them",
                   dtype);
}

namespace {
/// The types of one spec's function.
struct SpecTypes {
  RankedTensorType query, key, value, output, lse;
  SmallVector<Type> captures;
};
} // namespace

static SpecTypes typesOf(const AttentionSpec &spec, Type element,
                         attn::Layout layout) {
  auto dynamic = [](int64_t n) { return n > 0 ? n : ShapedType::kDynamic; };
  int64_t hq = dynamic(spec.heads), hkv = dynamic(spec.kvHeads);
  int64_t dv = spec.valueHeadDim ? spec.valueHeadDim : spec.headDim;
  int64_t batch = dynamic(spec.batch), sq = dynamic(spec.queries),
          sk = dynamic(spec.keys);
  auto tensor = [&](int64_t length, int64_t heads, int64_t dim) {
    SmallVector<int64_t> shape = {batch, length, heads, dim};
    if (layout == attn::Layout::BHSD)
      std::swap(shape[1], shape[2]);
    return RankedTensorType::get(shape, element);
  };
  auto lse = RankedTensorType::get({batch, hq, sq},
                                   Float32Type::get(element.getContext()));
  return {tensor(sq, hq, spec.headDim),
          tensor(sk, hkv, spec.headDim),
          tensor(sk, hkv, dv),
          tensor(sq, hq, dv),
          lse,
          {}};
}

static llvm::Error checkNumbers(const AttentionSpec &spec) {
  auto check = [](llvm::StringRef what, int64_t value,
                  int64_t smallest) -> llvm::Error {
    if (value >= smallest && value < (int64_t(1) << 31))
      return llvm::Error::success();
    return makeError("{} is {}, but must be from {} to 2^31 - 1; give a number "
                     "in this range",
                     what.str(), value, smallest);
  };
  if (llvm::Error error = check("head dim", spec.headDim, 1))
    return error;
  if (llvm::Error error = check("value head dim", spec.valueHeadDim, 0))
    return error;
  if (llvm::Error error = check("number of heads", spec.heads, 0))
    return error;
  for (auto [what, value] : {std::pair("batch", spec.batch),
                             {"number of queries", spec.queries},
                             {"number of keys", spec.keys}})
    if (llvm::Error error = check(what, value, 0))
      return error;
  return check("number of key heads", spec.kvHeads, 0);
}

static void buildFunction(const AttentionSpec &spec, ModuleOp module,
                          const SpecTypes &types, attn::Layout layout,
                          Attribute mask) {
  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  SmallVector<Type> inputs = {types.query, types.key, types.value};
  if (spec.kvLengths)
    inputs.push_back(RankedTensorType::get({types.query.getDimSize(0)},
                                           builder.getI32Type()));
  llvm::append_range(inputs, types.captures);
  SmallVector<Type> results = {types.output};
  if (spec.withLse)
    results.push_back(types.lse);
  auto func = func::FuncOp::create(builder, loc, spec.name,
                                   builder.getFunctionType(inputs, results));
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto arg = [&](unsigned i) { return entry->getArgument(i); };
  unsigned firstCapture = spec.kvLengths ? 4 : 3;
  for (auto [i, capture] : llvm::enumerate(spec.captures))
    func.setArgAttr(firstCapture + i, kArgumentNameAttr,
                    builder.getStringAttr(capture.name));
  auto forward = attn::ForwardOp::create(
      builder, loc, TypeRange{types.output, types.lse}, arg(0), arg(1), arg(2),
      spec.kvLengths ? Value(arg(3)) : Value(),
      ValueRange(entry->getArguments().drop_front(firstCapture)),
      spec.scale ? builder.getF64FloatAttr(*spec.scale) : FloatAttr(), mask,
      attn::LayoutAttr::get(context, layout));
  func::ReturnOp::create(builder, loc,
                         forward.getResults().take_front(results.size()));
}

/// The text of a module whose `attn.forward` gets the region. All that is
/// before the region is on its first line, so that the lines of errors are
/// right.
static std::string withScore(ModuleOp module, const std::string &score) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // It does not verify: there are captures and nobody to read them.
  module->print(os, OpPrintingFlags().assumeVerified());
  size_t forward = text.find(" attn.forward ");
  size_t end = text.find('\n', forward);
  std::string before = text.substr(0, end);
  std::replace(before.begin(), before.end(), '\n', ' ');
  return before + " {" + score + "\n}" + text.substr(end);
}

llvm::Expected<OwningOpRef<ModuleOp>>
flashc::buildAttnModule(const AttentionSpec &spec, MLIRContext &context) {
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  if (llvm::Error error = checkNumbers(spec))
    return error;
  llvm::Expected<Type> element = elementTypeOf(spec.dtype, context);
  if (!element)
    return element.takeError();
  std::optional<attn::Layout> layout = attn::symbolizeLayout(spec.layout);
  if (!layout)
    return makeError("layout is '{}', but bshd and bhsd are known; use one of "
                     "them",
                     spec.layout);
  llvm::Expected<Attribute> mask = parseMask(spec.mask, context);
  if (!mask)
    return mask.takeError();
  SpecTypes types = typesOf(spec, *element, *layout);
  for (const CaptureSpec &capture : spec.captures) {
    llvm::Expected<Type> type = captureTypeOf(capture, context);
    if (!type)
      return type.takeError();
    types.captures.push_back(*type);
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  buildFunction(spec, *module, types, *layout, *mask);
  if (!spec.score.empty())
    return parseModule(withScore(*module, spec.score), "score function",
                       context);
  FirstError errors(&context);
  if (failed(verify(*module)))
    return errors.take("the description does not verify");
  return module;
}
