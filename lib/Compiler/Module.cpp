// Where attention comes in: a plain struct, a file or text; out goes a verified
// module on the `attn` level.
#include "flashc/Compiler/Module.h"
#include "flashc/Compiler/Diagnostics.h"
#include "flashc/Compiler/MaskText.h"
#include "flashc/Pipelines/Register.h"
#include "flashc/Support/Error.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace flashc;

std::unique_ptr<MLIRContext> flashc::makeContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context = std::make_unique<MLIRContext>(
      registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return context;
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
  auto lse = RankedTensorType::get(
      {ShapedType::kDynamic, hq, ShapedType::kDynamic},
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
    inputs.push_back(RankedTensorType::get({ShapedType::kDynamic},
                                           builder.getI32Type()));
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

/// Give each argument its name in the text.
static void nameArguments(ModuleOp module, const AsmParserState &state) {
  module.walk([&](func::FuncOp func) {
    if (func.isExternal())
      return;
    const AsmParserState::BlockDefinition *entry =
        state.getBlockDef(&func.getBody().front());
    for (BlockArgument argument : func.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!entry || i >= entry->arguments.size() ||
          func.getArgAttr(i, kArgumentNameAttr))
        continue;
      llvm::SMRange range = entry->arguments[i].loc;
      if (!range.isValid())
        continue;
      llvm::StringRef name(range.Start.getPointer(),
                           range.End.getPointer() - range.Start.getPointer());
      func.setArgAttr(i, kArgumentNameAttr,
                      StringAttr::get(func.getContext(), name.ltrim('%')));
    }
  });
}

static llvm::Expected<OwningOpRef<ModuleOp>>
parseBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer, MLIRContext &context) {
  std::string name = buffer->getBufferIdentifier().str();
  FirstError errors(&context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  AsmParserState state;
  Block parsed;
  if (failed(parseAsmSourceFile(sources, &parsed, ParserConfig(&context),
                                &state)))
    return errors.take(name + " is not an MLIR module; see docs/Dialects for "
                              "the syntax");
  OwningOpRef<ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &parsed, &context, FileLineColLoc::get(&context, name, 1, 1));
  if (!module)
    return errors.take(name + " is not an MLIR module; put its functions in "
                              "one module");
  nameArguments(*module, state);
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>>
flashc::readModule(llvm::StringRef path, MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return makeError("cannot read '{}': {}; give the path of an .mlir file, or "
                     "- for standard input",
                     path.str(), buffer.getError().message());
  return parseBuffer(std::move(*buffer), context);
}

llvm::Expected<OwningOpRef<ModuleOp>>
flashc::parseModule(llvm::StringRef text, llvm::StringRef name,
                    MLIRContext &context) {
  return parseBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), context);
}

static llvm::Expected<int> argumentOf(AttnFunction &found, Value value,
                                      llvm::StringRef what) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  if (argument && argument.getOwner() == &found.func.getBody().front())
    return static_cast<int>(argument.getArgNumber());
  return makeError("@{}: {} of attn.forward is computed by another op, but "
                   "must be an argument of the function; pass it in",
                   found.func.getName().str(), what.str());
}

static llvm::Error findOperands(AttnFunction &found) {
  auto find = [&](int &slot, Value value, llvm::StringRef what) -> llvm::Error {
    llvm::Expected<int> index = argumentOf(found, value, what);
    if (!index)
      return index.takeError();
    slot = *index;
    return llvm::Error::success();
  };
  attn::ForwardOp op = found.forward;
  if (llvm::Error error = find(found.query, op.getQuery(), "query"))
    return error;
  if (llvm::Error error = find(found.key, op.getKey(), "key"))
    return error;
  if (llvm::Error error = find(found.value, op.getValue(), "value"))
    return error;
  if (op.getKvLengths())
    if (llvm::Error error =
            find(found.kvLengths, op.getKvLengths(), "kv_lengths"))
      return error;
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    if (llvm::Error error = find(found.captures.emplace_back(), capture,
                                 "capture " + std::to_string(i)))
      return error;
    auto name = found.func.getArgAttrOfType<StringAttr>(found.captures.back(),
                                                        kArgumentNameAttr);
    found.captureNames.push_back(name ? name.str()
                                      : "capture" + std::to_string(i));
  }
  return llvm::Error::success();
}

// The symbol of the kernel in PTX. `flashc_` is for what the compiler adds.
static llvm::Error checkName(llvm::StringRef name) {
  bool letters = llvm::all_of(
      name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (letters && !name.empty() && !llvm::isDigit(name[0]) &&
      !name.starts_with("flashc_") && name.size() <= 200)
    return llvm::Error::success();
  return makeError("the kernel's function is called '{}', but a kernel's name "
                   "has letters, digits and _, at most 200, no digit and no "
                   "flashc_ in front; rename it",
                   name.take_front(60).str());
}

llvm::Expected<AttnFunction> flashc::findAttention(ModuleOp module) {
  AttnFunction found;
  int count = 0;
  module.walk([&](attn::ForwardOp op) {
    found.forward = op;
    ++count;
  });
  if (count != 1)
    return makeError("the module holds {} attn.forward ops, but one kernel is "
                     "made of one; split the module",
                     count);
  found.func = dyn_cast<func::FuncOp>(found.forward->getParentOp());
  if (!found.func)
    return makeError("attn.forward stands inside {}, but must stand in a "
                     "func.func; move it there",
                     found.forward->getParentOp()->getName().getStringRef().str());
  if (llvm::Error error = checkName(found.func.getName()))
    return error;
  if (llvm::Error error = findOperands(found))
    return error;
  Operation *end = found.forward->getBlock()->getTerminator();
  ValueRange results = found.forward.getResults();
  ValueRange returned = end->getOperands();
  found.returnsLse = returned.size() == 2;
  if (returned.empty() || returned.size() > 2 ||
      returned != results.take_front(returned.size()))
    return makeError("@{} must return the results of its attn.forward, output "
                     "first, but returns {} other values; change the return",
                     found.func.getName().str(), returned.size());
  return found;
}
