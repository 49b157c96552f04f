// Syntax and verifiers of the `tile` dialect.
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace flashc::tile;

#define GET_OP_CLASSES
#include "Tile/TileOps.cpp.inc"

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

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t q, int64_t kv, int64_t stages,
                                   int64_t warps, bool qInRegisters,
                                   int64_t sram) {
  return success();
}

// !tile.stream<64x128xf16>
Type StreamType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<StreamType>(loc, parser.getContext(),
                                       ArrayRef(shape),
                                       elementType);
}

void StreamType::print(AsmPrinter &p) const {
  p << '<';
  p.printDimensionList(getShape());
  p << 'x' << getElementType() << '>';
}

LogicalResult StreamType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType) {
  return success();
}

LogicalResult KernelOp::verify() { return success(); }
LogicalResult LoadOp::verify() { return success(); }
LogicalResult StreamOp::verify() { return success(); }
LogicalResult NextOp::verify() { return success(); }
LogicalResult StoreOp::verify() { return success(); }
LogicalResult DotOp::verify() { return success(); }
LogicalResult MaskOp::verify() { return success(); }
LogicalResult SoftmaxUpdateOp::verify() { return success(); }
LogicalResult RescaleOp::verify() { return success(); }
LogicalResult FinishOp::verify() { return success(); }
LogicalResult MapOp::verify() { return success(); }
LogicalResult MapOp::verifyRegions() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
