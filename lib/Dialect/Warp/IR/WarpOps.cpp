// Syntax and verifiers of the `warp` dialect.
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace flashc::warp;

#define GET_OP_CLASSES
#include "Warp/WarpOps.cpp.inc"

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildFuncType =
      [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag,
         std::string &) { return builder.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildFuncType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(
      p, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

// The part that the three types share: <64x128xf16
static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<int64_t> &shape,
                              Type &elementType) {
  return failure(parser.parseLess() ||
                 parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(elementType));
}

static void printShape(AsmPrinter &p, ArrayRef<int64_t> shape,
                       Type elementType) {
  p << '<';
  p.printDimensionList(shape);
  p << 'x' << elementType;
}

// !warp.fragment<128x64xf32>, !warp.fragment<128xf32, partial>
Type FragmentType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  bool partial = false;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("partial"))
      return {};
    partial = true;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<FragmentType>(loc, parser.getContext(),
                                       ArrayRef(shape),
                                         elementType, partial);
}

void FragmentType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  if (getPartial())
    p << ", partial";
  p << '>';
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> shape, Type elementType,
                                   bool partial) {
  return success();
}

// !warp.buffer<64x128xf16, 64>
Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t segment;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType) || parser.parseComma() ||
      parser.parseInteger(segment) || parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(loc, parser.getContext(),
                                       ArrayRef(shape),
                                       elementType, segment);
}

void BufferType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  p << ", " << getSegment() << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 int64_t segment) {
  return success();
}

// !warp.channel<64x128xf16, 64, depth = 2>
Type ChannelType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t segment, depth;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType) || parser.parseComma() ||
      parser.parseInteger(segment) || parser.parseComma() ||
      parser.parseKeyword("depth") || parser.parseEqual() ||
      parser.parseInteger(depth) || parser.parseGreater())
    return {};
  return parser.getChecked<ChannelType>(loc, parser.getContext(),
                                       ArrayRef(shape),
                                        elementType, segment, depth);
}

void ChannelType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  p << ", " << getSegment() << ", depth = " << getDepth() << '>';
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> shape, Type elementType,
                                  int64_t segment, int64_t depth) {
  return success();
}

BufferType ChannelType::getBufferType() const {
  return BufferType::get(getContext(), getShape(), getElementType(),
                         getSegment());
}

LogicalResult KernelOp::verify() { return success(); }
LogicalResult ChannelOp::verify() { return success(); }
LogicalResult GetOp::verify() { return success(); }
LogicalResult CopyInOp::verify() { return success(); }
LogicalResult CopyOutOp::verify() { return success(); }
LogicalResult LoadOp::verify() { return success(); }
LogicalResult StoreOp::verify() { return success(); }
LogicalResult StoreRowsOp::verify() { return success(); }
LogicalResult FillOp::verify() { return success(); }
LogicalResult MmaOp::verify() { return success(); }
LogicalResult MapOp::verify() { return success(); }
LogicalResult MapOp::verifyRegions() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
LogicalResult CollectOp::verify() { return success(); }
LogicalResult AnyOp::verify() { return success(); }
