#ifndef FLASHC_WARP_ATTRS
#define FLASHC_WARP_ATTRS

include "Warp/WarpDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Warp_ReduceKind : I32EnumAttr<"ReduceKind", "how a row is reduced", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::flashc::warp";
}
def Warp_ScatterKind : I32EnumAttr<"ScatterKind", "what is done to an element", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::flashc::warp";
}

#endif
