// The mask algebra: verifiers of the attributes and what the op's verifier and
// the passes ask of a whole mask.
#include "flashc/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace flashc::attn;

bool flashc::attn::isMask(Attribute attr) {
  return isa_and_present<CausalAttr, WindowAttr, PrefixAttr, KeyLengthAttr,
                         AndAttr, OrAttr, NotAttr>(attr);
}

bool flashc::attn::usesKeyLength(Attribute mask) {
  return TypeSwitch<Attribute, bool>(mask)
      .Case<KeyLengthAttr>([](auto) { return true; })
      .Case<AndAttr, OrAttr>(
          [](auto m) { return llvm::any_of(m.getParts(), usesKeyLength); })
      .Case<NotAttr>([](NotAttr m) { return usesKeyLength(m.getPart()); })
      .Default([](Attribute) { return false; });
}

// Products of products pass 2^63 soon; the count is exact up to this and means
// "more" above.
static constexpr int64_t kManyAlternatives = 1 << 20;

static int64_t countAlternatives(Attribute mask, bool negated) {
  auto combine = [&](ArrayRef<Attribute> parts, bool conjunction) {
    int64_t count = conjunction ? 1 : 0;
    for (Attribute part : parts) {
      int64_t n = countAlternatives(part, negated);
      count = std::min(conjunction ? count * n : count + n, kManyAlternatives);
    }
    return count;
  };
  return TypeSwitch<Attribute, int64_t>(mask)
      .Case<AndAttr>([&](AndAttr m) { return combine(m.getParts(), !negated); })
      .Case<OrAttr>([&](OrAttr m) { return combine(m.getParts(), negated); })
      .Case<NotAttr>(
          [&](NotAttr m) { return countAlternatives(m.getPart(), !negated); })
      .Case<WindowAttr>([&](WindowAttr m) {
        // Outside a band is below it or above it.
        return negated && m.getLeft() >= 0 && m.getRight() >= 0 ? 2 : 1;
      })
      .Default([](Attribute) { return 1; });
}

int64_t flashc::attn::countAlternatives(Attribute mask) {
  return ::countAlternatives(mask, /*negated=*/false);
}

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t left, int64_t right, Align align) {
  auto check = [&](int64_t bound, StringRef side) -> LogicalResult {
    if (bound >= -1 && bound <= kMaxMaskBound)
      return success();
    return emitError() << "attn.window expects " << side
                       << " to be -1 (unbounded) or 0 to " << kMaxMaskBound
                       << " keys, but it is " << bound
                       << "; use -1 for a side without a bound";
  };
  return failure(failed(check(left, "left")) || failed(check(right, "right")));
}

LogicalResult PrefixAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t length) {
  if (length >= 0 && length <= kMaxMaskBound)
    return success();
  return emitError() << "attn.prefix expects a length of 0 to " << kMaxMaskBound
                     << " keys, but it is " << length
                     << "; leave the prefix out where every key is visible";
}

static LogicalResult verifyPart(function_ref<InFlightDiagnostic()> emitError,
                                StringRef name, Attribute part) {
  if (isMask(part))
    return success();
  return emitError()
         << name << " combines masks of the attn dialect, but got " << part
         << "; use causal, window, prefix, key_length, and, or, not";
}

static LogicalResult verifyParts(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, ArrayRef<Attribute> parts) {
  if (parts.empty())
    return emitError() << name
                       << " expects at least one part, but has 0; leave "
                       << "the mask out where every key is visible";
  for (Attribute part : parts)
    if (failed(verifyPart(emitError, name, part)))
      return failure();
  return success();
}

LogicalResult AndAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              ArrayRef<Attribute> parts) {
  return verifyParts(emitError, "attn.and", parts);
}
LogicalResult OrAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                             ArrayRef<Attribute> parts) {
  return verifyParts(emitError, "attn.or", parts);
}
LogicalResult NotAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              Attribute part) {
  return verifyPart(emitError, "attn.not", part);
}
