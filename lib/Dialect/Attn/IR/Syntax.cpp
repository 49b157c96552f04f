// Text of `attn.forward` and `attn.backward`, in and out. Comes before
// verification: what is refused here is only what cannot be read at all.
//
// attn.forward %q, %k, %v [kv_lengths(%n : type)] [captures(%a, %b : types)]
//     [mask(attr)] [scale(0.125)] [layout(bhsd)] attr-dict
//     : q, k, v -> o, lse [score region]
//
// attn.backward %q, %k, %v, %o, %lse, %do [dlse(%d : type)] [kv_lengths(..)]
//     [captures(..)] [gradients([0, 1])] [mask(..)] [scale(..)] [layout(..)]
//     [deterministic] attr-dict
//     : q, k, v, o, lse, do -> dq, dk, dv, ... [score region gradient region]
#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace flashc::attn;

namespace {
/// Operands of a clause such as `captures(%a, %b : types)`.
struct Clause {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  llvm::SMLoc loc;

  ParseResult parse(OpAsmParser &parser, StringRef keyword) {
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    loc = parser.getCurrentLocation();
    return failure(parser.parseLParen() || parser.parseOperandList(operands) ||
                   parser.parseColonTypeList(types) || parser.parseRParen());
  }
  ParseResult resolve(OpAsmParser &parser, OperationState &result) {
    return parser.resolveOperands(operands, types, loc, result.operands);
  }
  int32_t size() const { return operands.size(); }
};

template <typename OpTy> class Reader {
public:
  Reader(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result) {}

  ParseResult mask();
  ParseResult scale();
  ParseResult layout();
  ParseResult discardable();
  /// A region or an empty one.
  ParseResult region() {
    Region *region = result.addRegion();
    OptionalParseResult parsed = parser.parseOptionalRegion(*region);
    return parsed.has_value() ? *parsed : ParseResult(success());
  }
  void segments(ArrayRef<int32_t> sizes) {
    result.addAttribute(OpTy::getOperandSegmentSizesAttrName(result.name),
                        parser.getBuilder().getDenseI32ArrayAttr(sizes));
  }

private:
  OpAsmParser &parser;
  OperationState &result;
};
} // namespace

template <typename OpTy> ParseResult Reader<OpTy>::mask() {
  if (failed(parser.parseOptionalKeyword("mask")))
    return success();
  Attribute mask;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseAttribute(mask) ||
      parser.parseRParen())
    return failure();
  if (!isMask(mask))
    return parser.emitError(loc)
           << "expects a mask of the attn dialect, but got " << mask
           << "; use causal, window, prefix, key_length, and, or, not";
  result.addAttribute(OpTy::getMaskAttrName(result.name), mask);
  return success();
}

template <typename OpTy> ParseResult Reader<OpTy>::scale() {
  if (failed(parser.parseOptionalKeyword("scale")))
    return success();
  FloatAttr scale;
  if (parser.parseLParen() ||
      parser.parseAttribute(scale, parser.getBuilder().getF64Type()) ||
      parser.parseRParen())
    return failure();
  result.addAttribute(OpTy::getScaleAttrName(result.name), scale);
  return success();
}

template <typename OpTy> ParseResult Reader<OpTy>::layout() {
  Layout layout = Layout::BSHD;
  if (succeeded(parser.parseOptionalKeyword("layout"))) {
    StringRef word;
    if (parser.parseLParen())
      return failure();
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseRParen())
      return failure();
    auto parsed = symbolizeLayout(word);
    if (!parsed)
      return parser.emitError(loc)
             << "expects layout bshd or bhsd, but got " << word;
    layout = *parsed;
  }
  result.addAttribute(OpTy::getLayoutAttrName(result.name),
                      LayoutAttr::get(parser.getContext(), layout));
  return success();
}

// What has syntax of its own must not come a second time in the dictionary: two
// attributes of one name are not a dictionary any more.
template <typename OpTy> ParseResult Reader<OpTy>::discardable() {
  NamedAttrList attributes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(attributes))
    return failure();
  for (NamedAttribute attribute : attributes) {
    if (llvm::is_contained(OpTy::getAttributeNames(),
                           attribute.getName().getValue()))
      return parser.emitError(loc)
             << "expects '" << attribute.getName().getValue()
             << "' in its own place, but it stands in the attribute "
                "dictionary; write mask(...), scale(...) or layout(...)";
    result.attributes.push_back(attribute);
  }
  return success();
}

ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  Reader<ForwardOp> reader(parser, result);
  Clause lengths, captures;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> inputTypes, resultTypes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(inputs, 3) ||
      lengths.parse(parser, "kv_lengths") ||
      captures.parse(parser, "captures") || reader.mask() || reader.scale() ||
      reader.layout() || reader.discardable() ||
      parser.parseColonTypeList(inputTypes) ||
      parser.parseArrowTypeList(resultTypes) || reader.region() ||
      parser.resolveOperands(inputs, inputTypes, loc, result.operands) ||
      lengths.resolve(parser, result) || captures.resolve(parser, result))
    return failure();
  result.addTypes(resultTypes);
  reader.segments({1, 1, 1, lengths.size(), captures.size()});
  return success();
}

static ParseResult parseGradients(OpAsmParser &parser, OperationState &result) {
  if (failed(parser.parseOptionalKeyword("gradients")))
    return success();
  if (parser.parseLParen())
    return failure();
  auto list = dyn_cast_if_present<DenseI64ArrayAttr>(
      DenseI64ArrayAttr::parse(parser, Type()));
  if (!list || parser.parseRParen())
    return failure();
  result.addAttribute(BackwardOp::getGradientsAttrName(result.name), list);
  return success();
}

ParseResult BackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  Reader<BackwardOp> reader(parser, result);
  Clause lseGradient, lengths, captures;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> inputTypes, resultTypes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(inputs, 6) || lseGradient.parse(parser, "dlse") ||
      lengths.parse(parser, "kv_lengths") ||
      captures.parse(parser, "captures") || parseGradients(parser, result) ||
      reader.mask() || reader.scale() || reader.layout())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("deterministic")))
    result.addAttribute(getDeterministicAttrName(result.name),
                        parser.getBuilder().getUnitAttr());
  if (reader.discardable() || parser.parseColonTypeList(inputTypes) ||
      parser.parseArrowTypeList(resultTypes) || reader.region())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("gradient"))) {
    if (parser.parseRegion(*result.addRegion()))
      return failure();
  } else {
    result.addRegion();
  }
  if (parser.resolveOperands(inputs, inputTypes, loc, result.operands) ||
      lseGradient.resolve(parser, result) || lengths.resolve(parser, result) ||
      captures.resolve(parser, result))
    return failure();
  result.addTypes(resultTypes);
  reader.segments(
      {1, 1, 1, 1, 1, 1, lseGradient.size(), lengths.size(), captures.size()});
  return success();
}

/// The clauses that both ops have in one order, up to `captures`.
static void printOperandClauses(OpAsmPrinter &p, AttentionInterface op) {
  if (Value lengths = op.getKvLengths())
    p << " kv_lengths(" << lengths << " : " << lengths.getType() << ')';
  if (!op.getCaptures().empty())
    p << " captures(" << op.getCaptures() << " : "
      << op.getCaptures().getTypes() << ')';
}

static void printAttributeClauses(OpAsmPrinter &p, AttentionInterface op,
                                  FloatAttr scale) {
  if (std::optional<Attribute> mask = op.getMask())
    p << " mask(" << *mask << ')';
  if (scale) {
    p << " scale(";
    p.printAttributeWithoutType(scale);
    p << ')';
  }
  if (op.getLayout() != Layout::BSHD)
    p << " layout(" << stringifyLayout(op.getLayout()) << ')';
}

void ForwardOp::print(OpAsmPrinter &p) {
  p << ' ' << getQuery() << ", " << getKey() << ", " << getValue();
  printOperandClauses(p, *this);
  printAttributeClauses(p, *this, getScaleAttr());
  p.printOptionalAttrDict((*this)->getAttrs(), getAttributeNames());
  p << " : " << getQuery().getType() << ", " << getKey().getType() << ", "
    << getValue().getType();
  p.printArrowTypeList((*this)->getResultTypes());
  if (!getScore().empty()) {
    p << ' ';
    p.printRegion(getScore());
  }
}

void BackwardOp::print(OpAsmPrinter &p) {
  constexpr unsigned kInputs = 6;
  OperandRange inputs = getOperands().take_front(kInputs);
  p << ' ' << inputs;
  if (Value gradient = getLseGradient())
    p << " dlse(" << gradient << " : " << gradient.getType() << ')';
  printOperandClauses(p, *this);
  if (!getGradients().empty()) {
    p << " gradients(";
    p.printStrippedAttrOrType(getGradientsAttr());
    p << ')';
  }
  printAttributeClauses(p, *this, getScaleAttr());
  if (getDeterministic())
    p << " deterministic";
  p.printOptionalAttrDict((*this)->getAttrs(), getAttributeNames());
  p << " : " << inputs.getTypes();
  p.printArrowTypeList((*this)->getResultTypes());
  if (!getScore().empty()) {
    p << ' ';
    p.printRegion(getScore());
  }
  if (!getScoreGradient().empty()) {
    p << " gradient ";
    p.printRegion(getScoreGradient());
  }
}
