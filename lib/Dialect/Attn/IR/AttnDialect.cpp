// The `attn` dialect: registration of its attributes, types and ops.
#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc::attn;

#include "Attn/AttnDialect.cpp.inc"
#include "Attn/AttnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Attn/AttnAttrs.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Attn/AttnOps.cpp.inc"
      >();
}
