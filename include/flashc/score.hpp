//===- score.hpp - Score functions written as expressions -------*- C++ -*-===//
//
// Builds the text of a score region. ALiBi:
//
//   flashc::Score s;
//   auto slopes = s.capture("slopes", flashc::DType::F32, {32});
//   auto distance = (s.key() - s.query()).toFloat();
//   s.result(s.score() + slopes[{s.head()}] * distance);
//
// C++17 and the standard library alone.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_SCORE_HPP
#define FLASHC_SCORE_HPP

#include "flashc/flashc.h"

#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace flashc {
inline namespace v0 {

/// Element types of arrays.
enum class DType {
  F16 = FLASHC_F16,
  BF16 = FLASHC_BF16,
  F32 = FLASHC_F32,
  I8 = FLASHC_I8,
  I32 = FLASHC_I32,
  I64 = FLASHC_I64
};

/// A score function: what is done to each scaled score, before the mask, from
/// its place and from captured tensors. Values belong to one Score, which must
/// outlive them. What does not fit together (a float and an index added) is
/// refused when it is compiled, with the line in `text()`.
class Score {
public:
  struct CaptureInfo {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
  };

  /// A number: f32, an index (an integer of 64 bits), or the outcome of a
  /// comparison.
  class Value {
  public:
    Value operator+(Value b) const { return same("add", b); }
    Value operator-(Value b) const { return same("sub", b); }
    Value operator*(Value b) const { return same("mul", b); }
    /// Of floats; an index is divided by a constant alone.
    Value operator/(Value b) const {
      return owner->op(isFloat() ? "arith.divf" : "arith.floordivsi",
                       {*this, b}, type);
    }
    Value operator+(double b) const { return *this + constant(b); }
    Value operator-(double b) const { return *this - constant(b); }
    Value operator*(double b) const { return *this * constant(b); }
    Value operator/(double b) const { return *this / constant(b); }
    Value operator<(Value b) const { return compare("olt", "slt", b); }
    Value operator<=(Value b) const { return compare("ole", "sle", b); }
    Value operator>(Value b) const { return compare("ogt", "sgt", b); }
    Value operator>=(Value b) const { return compare("oge", "sge", b); }
    Value operator==(Value b) const { return compare("oeq", "eq", b); }
    Value operator!=(Value b) const { return compare("une", "ne", b); }
    /// Of comparisons.
    Value operator&(Value b) const {
      return owner->op("arith.andi", {*this, b}, type);
    }
    Value operator|(Value b) const {
      return owner->op("arith.ori", {*this, b}, type);
    }
    /// An index as f32. It must fit 32 bits.
    Value toFloat() const {
      Value narrow = owner->cast("arith.index_cast", *this, "i32");
      return owner->cast("arith.sitofp", narrow, "f32");
    }

  private:
    friend class Score;
    Value(Score *owner, std::string name, std::string type)
        : owner(owner), name(std::move(name)), type(std::move(type)) {}
    bool isFloat() const { return type == "f32"; }
    Value constant(double value) const {
      return isFloat() ? owner->number(value)
                       : owner->index(static_cast<int64_t>(value));
    }
    Value same(const char *what, Value b) const {
      std::string name = std::string("arith.") + what + (isFloat() ? "f" : "i");
      return owner->op(name, {*this, b}, type);
    }
    Value compare(const char *ofFloats, const char *ofIndices, Value b) const {
      std::string name = isFloat() ? std::string("arith.cmpf ") + ofFloats
                                   : std::string("arith.cmpi ") + ofIndices;
      return owner->op(name + ",", {*this, b}, type, "i1");
    }
    Score *owner;
    std::string name, type;
  };

  /// A captured tensor.
  class Tensor {
  public:
    /// The element at these indices, one a dimension: as f32 or as an index.
    /// Indices below 0 and past the end read the nearest element.
    Value operator[](std::initializer_list<Value> indices) const {
      return owner->load(*this, indices);
    }

  private:
    friend class Score;
    Tensor(Score *owner, size_t number, std::string type, DType dtype)
        : owner(owner), number(number), type(std::move(type)), dtype(dtype) {}
    Score *owner;
    size_t number;
    std::string type;
    DType dtype;
  };

  Score() = default;
  Score(const Score &) = delete;
  Score &operator=(const Score &) = delete;

  /// The scaled score, and where it stands: batch, query head, query and key.
  Value score() { return {this, "%s", "f32"}; }
  Value batch() { return {this, "%b", "index"}; }
  Value head() { return {this, "%h", "index"}; }
  Value query() { return {this, "%i", "index"}; }
  Value key() { return {this, "%j", "index"}; }

  Value number(double value) {
    char text[64];
    if (value == std::numeric_limits<double>::infinity() ||
        value == -std::numeric_limits<double>::infinity())
      std::snprintf(text, sizeof text, "%s", value > 0 ? "0x7F800000"
                                                       : "0xFF800000");
    else
      std::snprintf(text, sizeof text, "%.17e", value);
    return define(std::string("arith.constant ") + text + " : f32", "f32");
  }
  Value index(int64_t value) {
    return define("arith.constant " + std::to_string(value) + " : index",
                  "index");
  }

  /// A tensor that each launch gives; sizes of 0 are known then.
  Tensor capture(std::string name, DType dtype, std::vector<int64_t> shape) {
    std::string type = "tensor<";
    for (int64_t size : shape)
      type += (size ? std::to_string(size) : "?") + "x";
    type += std::string(elementName(dtype)) + ">";
    tensors.push_back({std::move(name), dtype, std::move(shape)});
    types.push_back(type);
    return {this, tensors.size() - 1, type, dtype};
  }

  Value select(Value condition, Value then, Value otherwise) {
    return define("arith.select " + condition.name + ", " + then.name + ", " +
                      otherwise.name + " : " + then.type,
                  then.type);
  }
  Value min(Value a, Value b) {
    return op(a.isFloat() ? "arith.minnumf" : "arith.minsi", {a, b}, a.type);
  }
  Value max(Value a, Value b) {
    return op(a.isFloat() ? "arith.maxnumf" : "arith.maxsi", {a, b}, a.type);
  }
  Value exp(Value x) { return op("math.exp", {x}, x.type); }
  Value log(Value x) { return op("math.log", {x}, x.type); }
  Value tanh(Value x) { return op("math.tanh", {x}, x.type); }
  Value sqrt(Value x) { return op("math.sqrt", {x}, x.type); }
  Value abs(Value x) {
    return op(x.isFloat() ? "math.absf" : "math.absi", {x}, x.type);
  }

  /// What the function gives: an f32. Ends it.
  void result(Value value) {
    body += "  attn.yield " + value.name + " : " + value.type + "\n";
  }

  /// As flashc_attention_spec has it.
  std::string text() const {
    std::string out =
        "^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index";
    for (size_t n = 0; n < types.size(); ++n)
      out += ", %t" + std::to_string(n) + ": " + types[n];
    return out + "):\n" + body;
  }
  const std::vector<CaptureInfo> &captures() const { return tensors; }

private:
  static const char *elementName(DType dtype) {
    switch (dtype) {
    case DType::F16:
      return "f16";
    case DType::BF16:
      return "bf16";
    case DType::F32:
      return "f32";
    case DType::I8:
      return "i8";
    case DType::I32:
      return "i32";
    case DType::I64:
      return "i64";
    }
    return "f32";
  }

  Value define(const std::string &text, std::string type) {
    std::string name = "%v" + std::to_string(count++);
    body += "  " + name + " = " + text + "\n";
    return {this, std::move(name), std::move(type)};
  }
  Value op(const std::string &name, std::initializer_list<Value> operands,
           const std::string &type, const char *result = nullptr) {
    std::string text = name;
    const char *separator = " ";
    for (const Value &operand : operands) {
      text += separator + operand.name;
      separator = ", ";
    }
    return define(text + " : " + type, result ? result : type);
  }
  Value cast(const std::string &name, const Value &from, const char *to) {
    return define(name + " " + from.name + " : " + from.type + " to " + to, to);
  }
  Value load(const Tensor &tensor, std::initializer_list<Value> indices) {
    std::string text =
        "tensor.extract %t" + std::to_string(tensor.number) + "[";
    const char *separator = "";
    for (const Value &index : indices) {
      text += separator + index.name;
      separator = ", ";
    }
    Value element = define(text + "] : " + tensor.type, elementName(tensor.dtype));
    switch (tensor.dtype) {
    case DType::F32:
      return element;
    case DType::F16:
    case DType::BF16:
      return cast("arith.extf", element, "f32");
    default:
      return cast("arith.index_cast", element, "index");
    }
  }

  std::string body;
  size_t count = 0;
  std::vector<CaptureInfo> tensors;
  std::vector<std::string> types;
};

} // namespace v0
} // namespace flashc

#endif // FLASHC_SCORE_HPP
