//===- ScheduleAttr.cpp - Schedules as attributes and as text -------------===//
//
// The border between the pure functions of lib/Analysis and the IR: what they
// are asked, and what they answer, in the IR's terms.
//
//===----------------------------------------------------------------------===//
#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"

#include "CaptureGradients.h"
#include "MaskSets.h"

#include "flashc/Dialect/Attn/IR/ScoreBias.h"
#include "flashc/Support/Error.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace flashc {

/// Keys to the left and to the right of the diagonal that a row may see; -1:
/// all.
static std::pair<int64_t, int64_t> getBand(Attribute mask) {
  if (isa_and_nonnull<attn::CausalAttr>(mask))
    return {-1, 0};
  if (auto window = dyn_cast_or_null<attn::WindowAttr>(mask))
    return {window.getLeft(), window.getRight()};
  std::pair<int64_t, int64_t> band = {-1, -1};
  auto conjunction = dyn_cast_or_null<attn::AndAttr>(mask);
  if (!conjunction)
    return band;
  // -1 as an unsigned number is larger than every bound.
  auto least = [](int64_t a, int64_t b) {
    return uint64_t(a) < uint64_t(b) ? a : b;
  };
  for (Attribute part : conjunction.getParts()) {
    auto [left, right] = getBand(part);
    band = {least(band.first, left), least(band.second, right)};
  }
  return band;
}

ScheduleRequest getScheduleRequest(attn::AttentionInterface op) {
  ScheduleRequest request;
  request.headDim = op.getHeadDim();
  request.valueHeadDim = op.getValueHeadDim();
  Type element = op.getQuery().getType().getElementType();
  request.element = element.isF16()    ? ElementKind::F16
                    : element.isBF16() ? ElementKind::BF16
                                       : ElementKind::F32;
  request.hasScore = op.hasScore();
  if (op.hasScore()) {
    Block &score = op.getScore().front();
    std::optional<attn::ScoreBias> bias = attn::matchScoreBias(op);
    request.isDistance = bias && attn::isDistance(*bias);
    request.isPositional =
        !request.isDistance &&
        llvm::any_of(score.getArguments().drop_front(),
                     [](Value position) { return !position.use_empty(); });
  }
  if (auto backward = dyn_cast<attn::BackwardOp>(op.getOperation())) {
    request.isBackward = true;
    request.isDeterministic = backward.getDeterministic();
    request.isConvex =
        maskToSets(op.getMask().value_or(Attribute()), op->getContext())
            .size() <= 1;
    if (op.hasScore()) {
      request.hasFactor = backward.hasGradientFactor();
      request.sumsCaptures =
          llvm::any_of(findCaptureForms(backward), [](const CaptureForm &form) {
            return !form.isGathered;
          });
    }
  }
  request.hasKeyLengths = bool(op.getKvLengths());
  request.isMasked = op.getMask().has_value() || op.getKvLengths();
  std::tie(request.left, request.right) =
      getBand(op.getMask().value_or(Attribute()));
  return request;
}

static tile::Rescale toAttr(RescaleKind kind) {
  switch (kind) {
  case RescaleKind::Lazy:
    return tile::Rescale::Lazy;
  case RescaleKind::Late:
    return tile::Rescale::Late;
  case RescaleKind::Always:
    return tile::Rescale::Always;
  case RescaleKind::Test:
    return tile::Rescale::Test;
  }
  llvm_unreachable("a kind of rescaling");
}

static RescaleKind toKind(tile::Rescale rescale) {
  switch (rescale) {
  case tile::Rescale::Lazy:
    return RescaleKind::Lazy;
  case tile::Rescale::Late:
    return RescaleKind::Late;
  case tile::Rescale::Always:
    return RescaleKind::Always;
  case tile::Rescale::Test:
    return RescaleKind::Test;
  }
  llvm_unreachable("a kind of rescaling");
}

tile::ScheduleAttr toAttr(const Schedule &s, MLIRContext *context) {
  tile::RolesAttr roles;
  if (s.roles)
    roles = tile::RolesAttr::get(context, s.roles->groups,
                                 s.roles->producerRegisters,
                                 s.roles->consumerRegisters, s.roles->overlap,
                                 s.roles->turns, toAttr(s.roles->rescale),
                                 s.roles->apart, s.roles->ahead, s.roles->skip);
  return tile::ScheduleAttr::get(context, s.q, s.kv, s.stages, s.warps,
                                 s.qInRegisters, s.sram, s.warpRows, roles);
}

Schedule toSchedule(tile::ScheduleAttr attr) {
  Schedule s;
  s.q = attr.getQ();
  s.kv = attr.getKv();
  s.stages = attr.getStages();
  s.warps = attr.getWarps();
  s.qInRegisters = attr.getQInRegisters();
  s.sram = attr.getSram();
  s.warpRows = attr.getWarpRows();
  if (tile::RolesAttr roles = attr.getRoles())
    s.roles = RoleChoices{
        roles.getGroups(),  roles.getProducer(), roles.getConsumer(),
        roles.getOverlap(), roles.getTurns(),    toKind(roles.getRescale()),
        roles.getApart(),   roles.getAhead(),    roles.getSkip()};
  return s;
}

std::string printSchedule(const Schedule &schedule) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  std::string text;
  llvm::raw_string_ostream(text) << toAttr(schedule, &context);
  return text;
}

llvm::Expected<Schedule> parseSchedule(llvm::StringRef text,
                                       MLIRContext *context) {
  context->loadDialect<tile::TileDialect>();
  std::string why;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    why += (why.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  Attribute parsed = parseAttribute(text, context);
  auto attr = dyn_cast_or_null<tile::ScheduleAttr>(parsed);
  if (attr)
    return toSchedule(attr);
  if (parsed)
    why = "it is another attribute";
  return makeError("'{}' is no schedule: {}; write it as flashc --emit=tile "
                   "prints it, #tile.schedule<q = 128, ...>",
                   text.str(), why);
}
} // namespace flashc
