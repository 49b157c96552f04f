// From a plain struct to a verified module on the `attn` level.
#include "flashc/Compiler/Diagnostics.h"
#include "flashc/Compiler/MaskText.h"
#include "flashc/Compiler/Module.h"
#include "flashc/Support/Error.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace flashc;

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
};
} // namespace

static SpecTypes typesOf(const AttentionSpec &spec, Type element,
                         attn::Layout layout) {
  auto dynamic = [](int64_t n) { return n > 0 ? n : ShapedType::kDynamic; };
  int64_t hq = dynamic(spec.heads), hkv = dynamic(spec.kvHeads);
  int64_t dv = spec.valueHeadDim ? spec.valueHeadDim : spec.headDim;
  auto tensor = [&](int64_t heads, int64_t dim) {
    SmallVector<int64_t> shape = {ShapedType::kDynamic, ShapedType::kDynamic,
                                  heads, dim};
    if (layout == attn::Layout::BHSD)
      std::swap(shape[1], shape[2]);
    return RankedTensorType::get(shape, element);
  };
  auto lse =
      RankedTensorType::get({ShapedType::kDynamic, hq, ShapedType::kDynamic},
                            Float32Type::get(element.getContext()));
  return {tensor(hq, spec.headDim), tensor(hkv, spec.headDim), tensor(hkv, dv),
          tensor(hq, dv), lse};
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
    inputs.push_back(
        RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type()));
  SmallVector<Type> results = {types.output};
  if (spec.withLse)
    results.push_back(types.lse);
  auto func = func::FuncOp::create(builder, loc, "attention",
                                   builder.getFunctionType(inputs, results));
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto arg = [&](unsigned i) { return entry->getArgument(i); };
  auto forward = attn::ForwardOp::create(
      builder, loc, TypeRange{types.output, types.lse}, arg(0), arg(1), arg(2),
      spec.kvLengths ? Value(arg(3)) : Value(), ValueRange{},
      spec.scale ? builder.getF64FloatAttr(*spec.scale) : FloatAttr(), mask,
      attn::LayoutAttr::get(context, layout));
  func::ReturnOp::create(builder, loc,
                         forward.getResults().take_front(results.size()));
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
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  buildFunction(spec, *module, typesOf(spec, *element, *layout), *layout,
                *mask);
  FirstError errors(&context);
  if (failed(verify(*module)))
    return errors.take("the description does not verify");
  return module;
}
