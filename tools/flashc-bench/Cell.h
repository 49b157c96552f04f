//===- Cell.h - One problem of a grid ---------------------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_CELL_H
#define FLASHC_TOOLS_FLASHC_BENCH_CELL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <string>
#include <vector>

namespace flashc {

inline constexpr int64_t kTokens = 16384; // batch * length
inline constexpr int64_t kWidth = 2048;   // heads * head dim

/// A score function that can be timed.
struct Score {
  enum class Kind { None, Alibi, AlibiSymmetric, Softcap };
  Kind kind = Kind::None;
  double cap = 0;
};

/// "none"; "alibi": score + slope_h (j - i); "alibi-symmetric": score - slope_h
/// |j - i|; "softcap(c)": c tanh(score / c). Slopes are 2^(-8 (h + 1) / H), as
/// in arXiv 2108.12409.
llvm::Expected<Score> parseScore(llvm::StringRef text);

/// One problem: as many batches as make `kTokens` tokens, at least one.
struct Cell {
  std::string dtype = "fp16"; // or bf16
  /// Head dims of Q and K, and of V and O; queries and keys; heads of Q, and of
  /// K and V.
  int64_t dim = 0, valueDim = 0, length = 0, heads = 0, kvHeads = 0;
  /// As `parseMask` and `parseScore` read them.
  std::string mask = "none", score = "none";
  /// Pairs (query, key) of one head that are paid for: all length^2 without a
  /// mask; half of them with "causal", as the papers count; else exactly those
  /// that the mask leaves visible.
  double pairs = 0;

  int64_t batch() const { return std::max<int64_t>(kTokens / length, 1); }
  /// Two for each multiply-add of Q K^T and of P V over those pairs.
  double flops() const {
    return 2.0 * double(dim + valueDim) * pairs * double(batch() * heads);
  }
  /// "fp16 d192/128 H16 B2 8192 causal".
  std::string name() const;
};

/// Fill in what is left out (0: V's head dim is the other one, heads make
/// `kWidth`, key heads are as many) and count the pairs. Fails on numbers and
/// texts that describe no problem.
llvm::Expected<Cell> completeCell(Cell cell);

/// A cell of standard input: four words and then key=value, or key=value alone:
///
///     fp16 128 4096 1
///     fp16 192 8192 0 dv=128 heads=16 mask=window(1024,0)
///     dtype=bf16 d=128 length=8192 mask=causal score=alibi kv-heads=4
///
/// The words are type, head dim, length, and 1 for causal or 0. Masks hold no
/// spaces here.
llvm::Expected<Cell> parseCell(llvm::StringRef line);

/// The parts of a list, split at the commas that stand in no parentheses.
std::vector<std::string> splitList(llvm::StringRef text);

/// "128", or "192/128" where V's head dim is another.
llvm::Error parseDims(llvm::StringRef text, Cell &cell);

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_CELL_H
