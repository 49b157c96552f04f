//===- Problem.cpp - Host arrays, masks, descriptions ---------------------===//
//
// The data of the oracle and of the test cases. Nothing here is fast; it is
// meant to be seen to be right.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Problem.h"
#include "flashc/Support/Float16.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

int64_t reference::elementBytes(Element element) {
  return element == Element::F32 ? 4 : 2;
}

llvm::StringRef reference::elementName(Element element) {
  switch (element) {
  case Element::F16:
    return "f16";
  case Element::BF16:
    return "bf16";
  case Element::F32:
    return "f32";
  }
  return "";
}

llvm::StringRef reference::layoutName(Layout layout) {
  return layout == Layout::BSHD ? "bshd" : "bhsd";
}

float reference::roundTo(Element element, float value) {
  switch (element) {
  case Element::F16:
    return halfToFloat(floatToHalf(value));
  case Element::BF16:
    return bfloatToFloat(floatToBFloat(value));
  case Element::F32:
    return value;
  }
  return value;
}

double reference::unitRoundoff(Element element) {
  switch (element) {
  case Element::F16:
    return 0x1p-11;
  case Element::BF16:
    return 0x1p-8;
  case Element::F32:
    return 0x1p-24;
  }
  return 0;
}

HostTensor Capture::tensor() const {
  HostTensor out =
      HostTensor::dense(element, {1, 1, 1, int64_t(data.size())}, Layout::BHSD);
  for (size_t e = 0; e < data.size(); ++e)
    out.set(0, 0, 0, int64_t(e), data[e]);
  return out;
}

HostTensor HostTensor::dense(Element element, std::array<int64_t, 4> shape,
                             Layout layout) {
  auto [b, h, s, d] = shape;
  if (layout == Layout::BHSD)
    return strided(element, shape, {h * s * d, s * d, d, 1}, 0);
  return strided(element, shape, {s * h * d, d, h * d, 1}, 0);
}

HostTensor HostTensor::strided(Element element, std::array<int64_t, 4> shape,
                               std::array<int64_t, 4> strides, int64_t offset) {
  HostTensor tensor{element, shape, strides, offset, {}};
  int64_t end = offset + 1;
  for (size_t dim = 0; dim < 4; ++dim)
    end += std::max<int64_t>(shape[dim] - 1, 0) * strides[dim];
  tensor.storage.resize(end * elementBytes(element));
  return tensor;
}

static float load(const HostTensor &tensor, int64_t index) {
  const char *at = tensor.storage.data() + index * elementBytes(tensor.element);
  if (tensor.element == Element::F32) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return tensor.element == Element::F16 ? halfToFloat(bits)
                                        : bfloatToFloat(bits);
}

static void save(HostTensor &tensor, int64_t index, float value) {
  char *at = tensor.storage.data() + index * elementBytes(tensor.element);
  if (tensor.element == Element::F32) {
    std::memcpy(at, &value, 4);
    return;
  }
  uint16_t bits = tensor.element == Element::F16 ? floatToHalf(value)
                                                 : floatToBFloat(value);
  std::memcpy(at, &bits, 2);
}

float HostTensor::get(int64_t b, int64_t h, int64_t s, int64_t d) const {
  return load(*this, index(b, h, s, d));
}

void HostTensor::set(int64_t b, int64_t h, int64_t s, int64_t d, float value) {
  save(*this, index(b, h, s, d), value);
}

void HostTensor::fill(float value) {
  int64_t count = storage.size() / elementBytes(element);
  for (int64_t i = 0; i < count; ++i)
    save(*this, i, value);
}

bool MaskExpr::visible(int64_t i, int64_t j, int64_t sq, int64_t keys) const {
  int64_t diagonal = i + keys - sq;
  switch (kind) {
  case Kind::None:
    return true;
  case Kind::Causal:
    return j <= diagonal;
  case Kind::CausalTopLeft:
    return j <= i;
  case Kind::Window:
    return (left < 0 || j >= diagonal - left) &&
           (right < 0 || j <= diagonal + right);
  case Kind::WindowTopLeft:
    return (left < 0 || j >= i - left) && (right < 0 || j <= i + right);
  case Kind::Prefix:
    return j < left;
  case Kind::KeyLength:
    return j < keys;
  case Kind::And:
    return parts[0].visible(i, j, sq, keys) && parts[1].visible(i, j, sq, keys);
  case Kind::Or:
    return parts[0].visible(i, j, sq, keys) || parts[1].visible(i, j, sq, keys);
  case Kind::Not:
    return !parts[0].visible(i, j, sq, keys);
  }
  return true;
}

std::string MaskExpr::text() const {
  switch (kind) {
  case Kind::None:
    return "none";
  case Kind::Causal:
    return "causal";
  case Kind::CausalTopLeft:
    return "causal-topleft";
  case Kind::Window:
    return fmt::format("window({},{})", left, right);
  case Kind::WindowTopLeft:
    return fmt::format("window-topleft({},{})", left, right);
  case Kind::Prefix:
    return fmt::format("prefix({})", left);
  case Kind::KeyLength:
    return "key-length";
  case Kind::And:
    return fmt::format("({} & {})", parts[0].text(), parts[1].text());
  case Kind::Or:
    return fmt::format("({} | {})", parts[0].text(), parts[1].text());
  case Kind::Not:
    return fmt::format("!{}", parts[0].text());
  }
  return "";
}

std::string MaskExpr::attribute() const {
  switch (kind) {
  case Kind::None: // visible wherever
    return "#attn.window<left = -1, right = -1>";
  case Kind::Causal:
    return "#attn.causal";
  case Kind::CausalTopLeft:
    return "#attn.causal<top_left>";
  case Kind::Window:
    return fmt::format("#attn.window<left = {}, right = {}>", left, right);
  case Kind::WindowTopLeft:
    return fmt::format("#attn.window<left = {}, right = {}, align = top_left>",
                       left, right);
  case Kind::Prefix:
    return fmt::format("#attn.prefix<{}>", left);
  case Kind::KeyLength:
    return "#attn.key_length";
  case Kind::And:
    return fmt::format("#attn.and<[{}, {}]>", parts[0].attribute(),
                       parts[1].attribute());
  case Kind::Or:
    return fmt::format("#attn.or<[{}, {}]>", parts[0].attribute(),
                       parts[1].attribute());
  case Kind::Not:
    return fmt::format("#attn.not<{}>", parts[0].attribute());
  }
  return "";
}

std::string AttentionProblem::describe() const {
  return fmt::format(
      "{} {} B{} H{}/{} Sq{} Sk{} D{}/{} {}{}{}", elementName(dtype()).str(),
      layoutName(layout).str(), batch(), heads(), kvHeads(), sq(), sk(),
      headDim(), valueHeadDim(), mask.text(),
      kvLengths.empty() ? "" : " kv-lengths", score ? " score" : "");
}
