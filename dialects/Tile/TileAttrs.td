#ifndef FLASHC_TILE_ATTRS
#define FLASHC_TILE_ATTRS

include "Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_ScheduleAttr : AttrDef<Tile_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "The choices of one kernel, made by a pure function of (spec, target)";
  let description = [{
    `q` and `kv` are the rows of a query block (Br) and a key block (Bc). `stages` is the depth of the K and of the V
    ring, `warps` the warps of a block, `q_in_registers` whether Q's fragments stay in registers for the whole loop.
    `sram` is the budget in bytes of on-chip memory of one block that the choice was made under. `q` is a multiple of
    16 * warps and `kv` of 16: a warp has whole steps of a tensor core. There are at most 32 warps and 64 stages.
    Written `#tile.schedule<q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>`.
  }];
  let parameters = (ins "int64_t":$q, "int64_t":$kv, "int64_t":$stages, "int64_t":$warps, "bool":$q_in_registers,
                        "int64_t":$sram);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_ExpBase : I32EnumAttr<"ExpBase", "base of the exponential", [
    I32EnumAttrCase<"E", 0, "e">, I32EnumAttrCase<"Two", 1, "two">]> {
  let cppNamespace = "::flashc::tile";
}
def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how a row is reduced", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::flashc::tile";
}

#endif
