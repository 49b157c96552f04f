#ifndef FLASHC_ATTN_ATTRS
#define FLASHC_ATTN_ATTRS

include "Attn/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Attn_Layout : I32EnumAttr<"Layout", "order of the four dimensions of Q, K, V and O", [
    I32EnumAttrCase<"BSHD", 0, "bshd">,
    I32EnumAttrCase<"BHSD", 1, "bhsd">]> {
  let cppNamespace = "::flashc::attn";
  let genSpecializedAttr = 0;
}
def Attn_LayoutAttr : EnumAttr<Attn_Dialect, Attn_Layout, "layout"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_Align : I32EnumAttr<"Align", "where the diagonal of a mask starts", [
    I32EnumAttrCase<"BottomRight", 0, "bottom_right">,
    I32EnumAttrCase<"TopLeft", 1, "top_left">]> {
  let cppNamespace = "::flashc::attn";
  let genSpecializedAttr = 0;
}
def Attn_AlignAttr : EnumAttr<Attn_Dialect, Attn_Align, "align"> {
  let assemblyFormat = "$value";
}

class Attn_Mask<string name, string attrMnemonic> : AttrDef<Attn_Dialect, name> { let mnemonic = attrMnemonic; }

def Attn_CausalAttr : Attn_Mask<"Causal", "causal"> {
  let summary = "Key j is visible to query i iff j <= i + offset";
  let description = [{
    `offset` is `Sk - Sq` when aligned bottom-right (the last query sees the last key; the default) and 0 when aligned
    top-left. `Sk` is the length of K's tensor, or of this batch's `kv_lengths` entry where the op has that operand.
    Written `#attn.causal` or `#attn.causal<top_left>`.
  }];
  let parameters = (ins DefaultValuedParameter<"Align", "Align::BottomRight">:$align);
  let assemblyFormat = "(`<` $align^ `>`)?";
}

def Attn_WindowAttr : Attn_Mask<"Window", "window"> {
  let summary = "Key j is visible iff i + offset - left <= j <= i + offset + right";
  let description = [{
    `left` and `right` count keys; -1 means unbounded on that side. `offset` is as for `#attn.causal`.
    Written `#attn.window<left = 128, right = 0>` or `#attn.window<left = 128, right = 0, align = top_left>`.
  }];
  let parameters = (ins "int64_t":$left, "int64_t":$right,
                        DefaultValuedParameter<"Align", "Align::BottomRight">:$align);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_PrefixAttr : Attn_Mask<"Prefix", "prefix"> {
  let summary = "Key j is visible iff j < length";
  let parameters = (ins "int64_t":$length);
  let assemblyFormat = "`<` $length `>`";
  let genVerifyDecl = 1;
}

def Attn_KeyLengthAttr : Attn_Mask<"KeyLength", "key_length"> {
  let summary = "Key j is visible in batch b iff j < kv_lengths[b]";
  let description = [{ Needs the op's `kv_lengths` operand. It is implied at the top of the mask by that operand; inside `or` and `not` it is written. }];
}

def Attn_AndAttr : Attn_Mask<"And", "and"> {
  let summary = "Visible iff visible in every part";
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$parts);
  let assemblyFormat = "`<` `[` $parts `]` `>`";
  let genVerifyDecl = 1;
}

def Attn_OrAttr : Attn_Mask<"Or", "or"> {
  let summary = "Visible iff visible in some part";
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$parts);
  let assemblyFormat = "`<` `[` $parts `]` `>`";
  let genVerifyDecl = 1;
}

def Attn_NotAttr : Attn_Mask<"Not", "not"> {
  let summary = "Visible iff not visible in the part";
  let parameters = (ins "::mlir::Attribute":$part);
  let assemblyFormat = "`<` $part `>`";
  let genVerifyDecl = 1;
}

/// Any of the attributes above.
def Attn_MaskAttr : Attr<CPred<"::flashc::attn::isMask($_self)">, "an attn mask (causal, window, prefix, key_length, and, or, not)"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

#endif
