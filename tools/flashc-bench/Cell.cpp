//===- Cell.cpp - Cells from flags and lines ------------------------------===//
//
// In: text. Out: cells whose numbers and texts are known to describe a problem,
// with the pairs that their FLOPs are counted by.
//
//===----------------------------------------------------------------------===//
#include "Cell.h"

#include "flashc/Compiler/Explain.h"
#include "flashc/Compiler/MaskText.h"
#include "flashc/Compiler/Module.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace flashc;

/// Lengths and heads past this are typing errors.
static constexpr int64_t kMost = 1 << 24;

llvm::Expected<Score> flashc::parseScore(llvm::StringRef text) {
  Score score;
  llvm::StringRef rest = text;
  if (rest.consume_front("softcap(") && rest.consume_back(")") &&
      !rest.getAsDouble(score.cap) && std::isfinite(score.cap) &&
      score.cap > 0) {
    score.kind = Score::Kind::Softcap;
    return score;
  }
  using Kind = std::optional<Score::Kind>;
  Kind kind = llvm::StringSwitch<Kind>(text)
                  .Case("none", Score::Kind::None)
                  .Case("alibi", Score::Kind::Alibi)
                  .Case("alibi-symmetric", Score::Kind::AlibiSymmetric)
                  .Default(std::nullopt);
  if (!kind)
    return makeError("score '{}' is not known; give none, alibi, "
                     "alibi-symmetric or softcap(c) with c above 0",
                     text.str());
  score.kind = *kind;
  return score;
}

std::string Cell::name() const {
  std::string text = fmt::format("{} d{}", dtype, dim);
  if (valueDim != dim)
    text += fmt::format("/{}", valueDim);
  text += fmt::format(" H{}", heads);
  if (kvHeads != heads)
    text += fmt::format("/{}", kvHeads);
  text += fmt::format(" B{} {} {}", batch(), length, mask);
  return score == "none" ? text : text + " " + score;
}

static llvm::Error checkRange(llvm::StringRef what, int64_t value) {
  if (value >= 1 && value <= kMost)
    return llvm::Error::success();
  return makeError("{} is {}, but is from 1 to {}; give another one",
                   what.str(), value, kMost);
}

/// See `Cell::pairs`.
static llvm::Expected<double> countPairs(const Cell &cell) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  llvm::Expected<mlir::Attribute> mask = parseMask(cell.mask, *context);
  if (!mask)
    return mask.takeError();
  if (printMask(*mask) == "causal")
    return double(cell.length) * double(cell.length) / 2;
  return double(countVisible(*mask, cell.length, cell.length));
}

llvm::Expected<Cell> flashc::completeCell(Cell cell) {
  if (cell.dtype != "fp16" && cell.dtype != "bf16")
    return makeError("type '{}' is not timed; use fp16 or bf16", cell.dtype);
  if (llvm::Error error = checkRange("head dim", cell.dim))
    return std::move(error);
  if (cell.valueDim == 0)
    cell.valueDim = cell.dim;
  if (cell.heads == 0)
    cell.heads = std::max<int64_t>(kWidth / cell.dim, 1);
  if (cell.kvHeads == 0)
    cell.kvHeads = cell.heads;
  for (auto [what, value] : {std::pair{"head dim of V", cell.valueDim},
                             {"length", cell.length},
                             {"number of heads", cell.heads},
                             {"number of key heads", cell.kvHeads}})
    if (llvm::Error error = checkRange(what, value))
      return std::move(error);
  if (cell.heads % cell.kvHeads != 0)
    return makeError("{} heads are no multiple of {} key heads; give others",
                     cell.heads, cell.kvHeads);
  if (llvm::Expected<Score> score = parseScore(cell.score); !score)
    return score.takeError();
  llvm::Expected<double> pairs = countPairs(cell);
  if (!pairs)
    return pairs.takeError();
  cell.pairs = *pairs;
  return cell;
}

std::vector<std::string> flashc::splitList(llvm::StringRef text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

llvm::Error flashc::parseDims(llvm::StringRef text, Cell &cell) {
  auto [first, second] = text.split('/');
  cell.valueDim = 0;
  if (first.getAsInteger(10, cell.dim) || cell.dim <= 0 ||
      (text.contains('/') &&
       (second.getAsInteger(10, cell.valueDim) || cell.valueDim <= 0)))
    return makeError("'{}' is no head dim; write 128, or 192/128 where V has "
                     "another",
                     text.str());
  return llvm::Error::success();
}

static bool setWord(Cell &cell, llvm::StringRef key, llvm::StringRef value) {
  auto text = [&](std::string &field) {
    field = value.str();
    return true;
  };
  auto number = [&](int64_t &field) {
    return !value.getAsInteger(10, field) && field > 0;
  };
  if (key == "dtype")
    return text(cell.dtype);
  if (key == "mask")
    return text(cell.mask);
  if (key == "score")
    return text(cell.score);
  if (key == "d")
    return number(cell.dim);
  if (key == "dv")
    return number(cell.valueDim);
  if (key == "length")
    return number(cell.length);
  if (key == "heads")
    return number(cell.heads);
  return key == "kv-heads" && number(cell.kvHeads);
}

llvm::Expected<Cell> flashc::parseCell(llvm::StringRef line) {
  auto bad = [&](const std::string &why) {
    return makeError("standard input: '{}' is no cell ({}); write one as 'fp16 "
                     "128 4096 1', with words such as dv=128, heads=16, "
                     "kv-heads=4, mask=window(1024,0) or score=alibi behind",
                     line.str(), why);
  };
  llvm::SmallVector<llvm::StringRef> words;
  line.trim().split(words, ' ', -1, /*KeepEmpty=*/false);
  Cell cell;
  size_t positional =
      llvm::find_if(words,
                    [](llvm::StringRef word) { return word.contains('='); }) -
      words.begin();
  if (positional == 4) {
    int causal = 0;
    cell.dtype = words[0].str();
    if (words[1].getAsInteger(10, cell.dim) ||
        words[2].getAsInteger(10, cell.length) ||
        words[3].getAsInteger(10, causal))
      return bad("the words are type, head dim, length, 1 for causal");
    cell.mask = causal ? "causal" : "none";
  } else if (positional != 0 || words.empty()) {
    return bad(fmt::format("{} words stand in front of key=value, but 4 or "
                           "none are expected",
                           positional));
  }
  for (llvm::StringRef word : llvm::drop_begin(words, positional)) {
    auto [key, value] = word.split('=');
    if (!setWord(cell, key, value))
      return bad(fmt::format("'{}' is not understood", word.str()));
  }
  llvm::Expected<Cell> complete = completeCell(std::move(cell));
  if (!complete)
    return bad(llvm::toString(complete.takeError()));
  return complete;
}
