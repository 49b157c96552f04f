// The `warp` dialect: registration of its attributes, types and ops.
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc::warp;

#include "Warp/WarpDialect.cpp.inc"
#include "Warp/WarpEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Warp/WarpAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Warp/WarpTypes.cpp.inc"

void WarpDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Warp/WarpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Warp/WarpOps.cpp.inc"
      >();
}
