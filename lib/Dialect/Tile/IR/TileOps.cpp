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

// #tile.grid<batch = [1, 0], heads = [], blocks = [1, 2], rows = 64>
Attribute GridAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> places[3];
  int64_t rows = 0;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  static constexpr StringLiteral names[] = {"batch", "heads", "blocks"};
  for (auto [name, place] : llvm::zip_equal(names, places)) {
    auto parseNumber = [&, &place = place] {
      return parser.parseInteger(place.emplace_back());
    };
    if (parser.parseKeyword(name) || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       parseNumber) ||
        parser.parseComma())
      return {};
  }
  if (parser.parseKeyword("rows") || parser.parseEqual() ||
      parser.parseInteger(rows) || parser.parseGreater())
    return {};
  return parser.getChecked<GridAttr>(loc, parser.getContext(),
                                     ArrayRef(places[0]), ArrayRef(places[1]),
                                     ArrayRef(places[2]), rows);
}

void GridAttr::print(AsmPrinter &p) const {
  auto printPlace = [&](StringRef name, ArrayRef<int64_t> place) {
    p << name << " = [";
    llvm::interleaveComma(place, p);
    p << "], ";
  };
  p << '<';
  printPlace("batch", getBatch());
  printPlace("heads", getHeads());
  printPlace("blocks", getBlocks());
  p << "rows = " << getRows() << '>';
}
