// Syntax of the `tile` dialect; its verifiers are in TileVerifiers.cpp (ops)
// and TileKernel.cpp (kernels, schedules and stream types).
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
                                       ArrayRef(shape), elementType);
}

void StreamType::print(AsmPrinter &p) const {
  p << '<';
  p.printDimensionList(getShape());
  p << 'x' << getElementType() << '>';
}
