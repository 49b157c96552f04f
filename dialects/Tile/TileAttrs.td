#ifndef FLASHC_TILE_ATTRS
#define FLASHC_TILE_ATTRS

include "Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Rescale : I32EnumAttr<"Rescale", "when the accumulator follows a new row maximum", [
    I32EnumAttrCase<"Lazy", 0, "lazy">, I32EnumAttrCase<"Late", 1, "late">, I32EnumAttrCase<"Always", 2, "always">,
    I32EnumAttrCase<"Test", 3, "test">]> {
  let cppNamespace = "::flashc::tile";
}

def Tile_RolesAttr : AttrDef<Tile_Dialect, "Roles"> {
  let mnemonic = "roles";
  let summary = "The choices of a kernel whose warps have roles: one warp loads, groups of four compute";
  let description = [{
    `groups` warpgroups of 64 query rows each compute; `producer` and `consumer` are the registers of a thread of either role.
    With `overlap` a block's scores are under way while the softmax of the block before runs; with `turns` the groups take turns
    on the tensor cores. `rescale` is `lazy` (a row maximum may lag by 2^8, and the accumulator is rescaled before the
    exponentials where one rises), `late` (the same, behind the exponentials) or `always` (it never lags and there is no
    branch), or `test` (as `lazy`, but whether a maximum rises is tested without finding it). With `apart` the output is staged in bytes of its own, else in Q's; with `ahead` Q has two slots, so that the next
    tile's Q is loaded while this one's is read. With `skip` a group computes the key blocks that its own rows see, and only lets
    the tile's others pass.
    Written `#tile.roles<groups = 2, producer = 32, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>`.
  }];
  let parameters = (ins "int64_t":$groups, "int64_t":$producer, "int64_t":$consumer, "bool":$overlap, "bool":$turns,
                        EnumParameter<Tile_Rescale>:$rescale, "bool":$apart, "bool":$ahead, "bool":$skip);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_ScheduleAttr : AttrDef<Tile_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "The choices of one kernel, made by a pure function of (spec, target)";
  let description = [{
    `q` and `kv` are the rows of a query block (Br) and a key block (Bc). `stages` is the depth of the K and of the V
    ring, `warps` the warps of a block, `q_in_registers` whether Q's fragments stay in registers for the whole loop.
    `sram` is the budget in bytes of on-chip memory of one block that the choice was made under. `q` is a multiple of
    16 * warps and `kv` of 16: a warp has whole steps of a tensor core. There are at most 32 warps and 64 stages. A warp has at least
    `warp_rows` rows of a tile, 16 (left out) or 32: where the warps have more rows together than the tile, columns are dealt to groups of them
    (a backward only). With `roles` (Hopper) `warps` are those that compute, four a group, with 16 rows each; where blocks have fewer rows
    than all groups together, each group has all 64 rows, and some of the results (a backward only).
    Written `#tile.schedule<q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>`.
  }];
  let parameters = (ins "int64_t":$q, "int64_t":$kv, "int64_t":$stages, "int64_t":$warps, "bool":$q_in_registers,
                        "int64_t":$sram, DefaultValuedParameter<"int64_t", "16">:$warp_rows,
                        OptionalParameter<"::flashc::tile::RolesAttr">:$roles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether each group has all rows of a block, and some of its results.
    bool isSharedByResults() const;
    /// Warps that the rows of a tile are dealt to.
    int64_t getRowWarps() const;
  }];
}

def Tile_GridAttr : AttrDef<Tile_Dialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "How many programs a kernel has";
  let description = [{
    `batch`, `heads` and `blocks` name a dimension of an argument each, as [argument, dimension]; [] stands for 1. There are as many
    batches and heads as those sizes, and a block for every `rows` of the last.
    Written `#tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 64>`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$batch, OptionalArrayRefParameter<"int64_t">:$heads,
                        OptionalArrayRefParameter<"int64_t">:$blocks, "int64_t":$rows);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_ExpBase : I32EnumAttr<"ExpBase", "base of the exponential", [
    I32EnumAttrCase<"E", 0, "e">, I32EnumAttrCase<"Two", 1, "two">]> {
  let cppNamespace = "::flashc::tile";
}
def Tile_ScatterKind : I32EnumAttr<"ScatterKind", "what is done to an element", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::flashc::tile";
}
def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how a row is reduced", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::flashc::tile";
}

#endif
