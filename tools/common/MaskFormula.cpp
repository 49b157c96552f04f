// Masks handed over as formulas: the oracle shares no code with the compiler.
#include "common/MaskFormula.h"

#include "flashc/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace flashc;
using reference::MaskExpr;

MaskExpr tools::toMaskExpr(mlir::Attribute mask) {
  auto fold = [](llvm::ArrayRef<mlir::Attribute> parts,
                 MaskExpr (*join)(MaskExpr, MaskExpr)) {
    MaskExpr result = toMaskExpr(parts.front());
    for (mlir::Attribute part : parts.drop_front())
      result = join(std::move(result), toMaskExpr(part));
    return result;
  };
  auto topLeft = [](attn::Align align) {
    return align == attn::Align::TopLeft;
  };
  if (!mask)
    return MaskExpr::none();
  return llvm::TypeSwitch<mlir::Attribute, MaskExpr>(mask)
      .Case<attn::CausalAttr>([&](auto m) {
        return topLeft(m.getAlign()) ? MaskExpr::causalTopLeft()
                                     : MaskExpr::causal();
      })
      .Case<attn::WindowAttr>([&](auto m) {
        MaskExpr window = MaskExpr::window(m.getLeft(), m.getRight());
        if (topLeft(m.getAlign()))
          window.kind = MaskExpr::Kind::WindowTopLeft;
        return window;
      })
      .Case<attn::PrefixAttr>(
          [](auto m) { return MaskExpr::prefix(m.getLength()); })
      .Case<attn::AndAttr>(
          [&](auto m) { return fold(m.getParts(), MaskExpr::both); })
      .Case<attn::OrAttr>(
          [&](auto m) { return fold(m.getParts(), MaskExpr::either); })
      .Case<attn::NotAttr>(
          [](auto m) { return MaskExpr::inverse(toMaskExpr(m.getPart())); })
      .Default([](mlir::Attribute) { return MaskExpr::keyLength(); });
}
