// Text of `attn.forward`, in and out. Comes before verification: what is
// refused here is only what cannot be read at all.
#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace flashc::attn;

// What has syntax of its own must not come a second time in the dictionary: two
// attributes of one name are not a dictionary any more.
static ParseResult parseDiscardable(OpAsmParser &parser,
                                    OperationState &result) {
  NamedAttrList attributes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(attributes))
    return failure();
  for (NamedAttribute attribute : attributes) {
    if (llvm::is_contained(ForwardOp::getAttributeNames(),
                           attribute.getName().getValue()))
      return parser.emitError(loc)
             << "expects '" << attribute.getName().getValue()
             << "' in its own place, but it stands in the attribute "
                "dictionary; write mask(...), scale(...) or layout(...)";
    result.attributes.push_back(attribute);
  }
  return success();
}

// attn.forward %q, %k, %v [kv_lengths(%n : type)] [captures(%a, %b : types)]
//     [mask(attr)] [scale(0.125)] [layout(bhsd)] attr-dict
//     : q, k, v -> o, lse [score region]
ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, captures;
  OpAsmParser::UnresolvedOperand lengths;
  Type lengthsType;
  SmallVector<Type> captureTypes, inputTypes, resultTypes;
  bool hasLengths = false;
  llvm::SMLoc inputsLoc = parser.getCurrentLocation(), capturesLoc;
  if (parser.parseOperandList(inputs, 3))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("kv_lengths"))) {
    hasLengths = true;
    if (parser.parseLParen() || parser.parseOperand(lengths) ||
        parser.parseColonType(lengthsType) || parser.parseRParen())
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("captures"))) {
    capturesLoc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseOperandList(captures) ||
        parser.parseColonTypeList(captureTypes) || parser.parseRParen())
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("mask"))) {
    Attribute mask;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseAttribute(mask) ||
        parser.parseRParen())
      return failure();
    if (!isMask(mask))
      return parser.emitError(loc)
             << "expects a mask of the attn dialect, but got " << mask
             << "; use causal, window, prefix, key_length, and, or, not";
    result.addAttribute(getMaskAttrName(result.name), mask);
  }
  if (succeeded(parser.parseOptionalKeyword("scale"))) {
    FloatAttr scale;
    if (parser.parseLParen() ||
        parser.parseAttribute(scale, parser.getBuilder().getF64Type()) ||
        parser.parseRParen())
      return failure();
    result.addAttribute(getScaleAttrName(result.name), scale);
  }
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
  result.addAttribute(getLayoutAttrName(result.name),
                      LayoutAttr::get(parser.getContext(), layout));
  if (parseDiscardable(parser, result) ||
      parser.parseColonTypeList(inputTypes) ||
      parser.parseArrowTypeList(resultTypes))
    return failure();
  Region *region = result.addRegion();
  OptionalParseResult parsedRegion = parser.parseOptionalRegion(*region);
  if ((parsedRegion.has_value() && failed(*parsedRegion)) ||
      parser.resolveOperands(inputs, inputTypes, inputsLoc, result.operands) ||
      (hasLengths &&
       parser.resolveOperand(lengths, lengthsType, result.operands)) ||
      parser.resolveOperands(captures, captureTypes, capturesLoc,
                             result.operands))
    return failure();
  result.addTypes(resultTypes);
  result.addAttribute(
      getOperandSegmentSizesAttrName(result.name),
      parser.getBuilder().getDenseI32ArrayAttr(
          {1, 1, 1, hasLengths ? 1 : 0, int32_t(captures.size())}));
  return success();
}

void ForwardOp::print(OpAsmPrinter &p) {
  p << ' ' << getQuery() << ", " << getKey() << ", " << getValue();
  if (getKvLengths())
    p << " kv_lengths(" << getKvLengths() << " : " << getKvLengths().getType()
      << ')';
  if (!getCaptures().empty())
    p << " captures(" << getCaptures() << " : " << getCaptures().getTypes()
      << ')';
  if (getMask())
    p << " mask(" << *getMask() << ')';
  if (getScaleAttr()) {
    p << " scale(";
    p.printAttributeWithoutType(getScaleAttr());
    p << ')';
  }
  if (getLayout() != Layout::BSHD)
    p << " layout(" << stringifyLayout(getLayout()) << ')';
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {getMaskAttrName(), getScaleAttrName(),
                           getLayoutAttrName(),
                           getOperandSegmentSizesAttrName()});
  p << " : " << getQuery().getType() << ", " << getKey().getType() << ", "
    << getValue().getType();
  p.printArrowTypeList((*this)->getResultTypes());
  if (hasScore()) {
    p << ' ';
    p.printRegion(getScore());
  }
}
