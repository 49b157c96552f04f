//===- Problem.h - An attention problem on host arrays ----------*- C++ -*-===//
//
// The oracle's own picture of attention: it shares no code with the compiler,
// so that both can only agree by being right.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_REFERENCE_PROBLEM_H
#define FLASHC_REFERENCE_PROBLEM_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flashc::reference {

enum class Element { F16, BF16, F32 };
enum class Layout { BSHD, BHSD };

int64_t elementBytes(Element element);
/// "f16", "bf16", "f32".
llvm::StringRef elementName(Element element);
llvm::StringRef layoutName(Layout layout);
/// Round to the element type (nearest, ties to even).
float roundTo(Element element, float value);
/// Half an ulp relative to the value: 2^-11, 2^-8 (7 + 1 bits), 2^-24.
double unitRoundoff(Element element);

/// A strided 4-D array (batch, head, length, dim) with its storage. The order
/// of the dimensions in memory is in the strides alone.
struct HostTensor {
  Element element = Element::F32;
  std::array<int64_t, 4> shape{};
  /// In elements.
  std::array<int64_t, 4> strides{};
  /// Elements from the start of `storage` to element (0, 0, 0, 0).
  int64_t offset = 0;
  std::vector<char> storage;

  /// A dense array, zero-filled, in the given layout.
  static HostTensor dense(Element element, std::array<int64_t, 4> shape,
                          Layout layout);
  /// An array with these strides, large enough for every index.
  static HostTensor strided(Element element, std::array<int64_t, 4> shape,
                            std::array<int64_t, 4> strides, int64_t offset);

  int64_t index(int64_t b, int64_t h, int64_t s, int64_t d) const {
    return offset + b * strides[0] + h * strides[1] + s * strides[2] +
           d * strides[3];
  }
  float get(int64_t b, int64_t h, int64_t s, int64_t d) const;
  void set(int64_t b, int64_t h, int64_t s, int64_t d, float value);
  /// Address of element (0, 0, 0, 0).
  char *data() { return storage.data() + offset * elementBytes(element); }
  const char *data() const {
    return storage.data() + offset * elementBytes(element);
  }
  /// Set every element of the storage, gaps between rows included.
  void fill(float value);
};

/// A mask as a formula over the query index i and the key index j. With `n` the
/// number of keys (of this batch, where key lengths are given) and
/// `offset = n - Sq`: causal is j <= i + offset, its top-left form j <= i, and
/// a window i + offset - left <= j <= i + offset + right (-1: unbounded), its
/// top-left form without the offset.
struct MaskExpr {
  enum class Kind {
    None,
    Causal,
    CausalTopLeft,
    Window,
    WindowTopLeft,
    Prefix,
    KeyLength,
    And,
    Or,
    Not
  };
  Kind kind = Kind::None;
  int64_t left = -1, right = -1; // window; `left` is also the prefix's length
  std::vector<MaskExpr> parts;   // and, or, not

  static MaskExpr none() { return {}; }
  static MaskExpr causal() { return {Kind::Causal, -1, -1, {}}; }
  static MaskExpr causalTopLeft() { return {Kind::CausalTopLeft, -1, -1, {}}; }
  static MaskExpr window(int64_t left, int64_t right) {
    return {Kind::Window, left, right, {}};
  }
  static MaskExpr prefix(int64_t length) {
    return {Kind::Prefix, length, -1, {}};
  }
  static MaskExpr keyLength() { return {Kind::KeyLength, -1, -1, {}}; }
  static MaskExpr both(MaskExpr a, MaskExpr b) {
    return {Kind::And, -1, -1, {a, b}};
  }
  static MaskExpr either(MaskExpr a, MaskExpr b) {
    return {Kind::Or, -1, -1, {a, b}};
  }
  static MaskExpr inverse(MaskExpr a) { return {Kind::Not, -1, -1, {a}}; }

  bool visible(int64_t i, int64_t j, int64_t sq, int64_t keys) const;
  /// As `--mask=` takes it, and.or.not written & | !.
  std::string text() const;
  /// As MLIR has it, for another mask than `none`.
  std::string attribute() const;
};

/// An array that a score function reads, contiguous.
struct Capture {
  std::string name;
  std::vector<int64_t> shape;
  /// Numbers of `element`.
  std::vector<float> data;
  Element element = Element::F32;

  /// Its numbers in memory, flat.
  HostTensor tensor() const;
};

/// Derivatives of a score function at one pair.
struct ScoreDerivative {
  /// Of the new score by the scaled one.
  double byScore = 1;
  /// Of the new score by elements of captures.
  struct ByCapture {
    int64_t capture, element;
    double value;
  };
  std::vector<ByCapture> byCaptures;
};

/// Inputs of one attention. The shapes are those of `q` (B, Hq, Sq, D), `k`
/// (B, Hkv, Sk, D) and `v` (B, Hkv, Sk, Dv).
struct AttentionProblem {
  HostTensor q, k, v;
  Layout layout = Layout::BSHD; // of O, and of the description
  double scale = 1;
  MaskExpr mask;
  /// One entry a batch, or empty where no such operand is given.
  std::vector<int32_t> kvLengths;
  /// The oracle's score function of (scaled score, b, h, i, j), or empty.
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)> score;
  /// The oracle's derivatives of `score`, with the same arguments; needed for
  /// gradients where there is a score function.
  std::function<ScoreDerivative(double, int64_t, int64_t, int64_t, int64_t)>
      scoreDerivative;
  /// What the compiler gets for `score`: the captured arrays and the
  /// description as MLIR text. Empty where flags say everything.
  std::vector<Capture> captures;
  std::string mlir;

  Element dtype() const { return q.element; }
  int64_t batch() const { return q.shape[0]; }
  int64_t heads() const { return q.shape[1]; }
  int64_t kvHeads() const { return k.shape[1]; }
  int64_t sq() const { return q.shape[2]; }
  int64_t sk() const { return k.shape[2]; }
  int64_t headDim() const { return q.shape[3]; }
  int64_t valueHeadDim() const { return v.shape[3]; }
  /// Keys of batch b: Sk, or its key length.
  int64_t keys(int64_t b) const {
    return kvLengths.empty() ? sk() : kvLengths[b];
  }
  bool visible(int64_t b, int64_t i, int64_t j) const {
    return j < keys(b) && mask.visible(i, j, sq(), keys(b));
  }
  /// "f16 bshd B2 H4/2 Sq33 Sk65 D64/64 causal": for messages.
  std::string describe() const;
};

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_PROBLEM_H
