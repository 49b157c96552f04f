// Masks as text: `--mask` comes in, an attribute of the `attn` dialect goes
// out, and back. Precedence climbing by hand; depth is bounded, since any text
// may come in.
#include "flashc/Compiler/MaskText.h"
#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::attn;

namespace {
constexpr int kMaxDepth = 64;

class MaskParser {
public:
  MaskParser(llvm::StringRef text, MLIRContext &context)
      : text(text), context(context) {}

  llvm::Expected<Attribute> run() {
    llvm::Expected<Attribute> mask = either();
    if (mask && !skipSpace().empty())
      return expected("&, | or the end");
    return mask;
  }

private:
  llvm::Expected<Attribute> either();
  llvm::Expected<Attribute> both();
  llvm::Expected<Attribute> unary();
  llvm::Expected<Attribute> atom();
  llvm::Expected<Attribute> window(Align align);
  llvm::Expected<Attribute> prefix();
  llvm::Expected<int64_t> bound(int64_t smallest);
  llvm::Error eatOr(char c);

  llvm::StringRef skipSpace() {
    while (position < text.size() && llvm::isSpace(text[position]))
      ++position;
    return text.drop_front(position);
  }
  bool eat(char c) {
    if (!skipSpace().starts_with(llvm::StringRef(&c, 1)))
      return false;
    ++position;
    return true;
  }
  llvm::Error expected(llvm::StringRef what) {
    llvm::StringRef rest = skipSpace();
    std::string found = rest.empty() ? "the end" : "'" + word(rest) + "'";
    return makeError("mask '{}', column {}: expected {}, but found {}; write "
                     "for example causal & window(128,0)",
                     escape(text), position + 1, what.str(), found);
  }
  /// What stands here: a word, or one character.
  static std::string word(llvm::StringRef rest) {
    llvm::StringRef name = rest.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_'; });
    return escape(name.empty() ? rest.take_front(1) : name);
  }
  static std::string escape(llvm::StringRef raw) {
    std::string out;
    llvm::raw_string_ostream os(out);
    llvm::printEscapedString(raw.take_front(80), os);
    return out;
  }

  llvm::StringRef text;
  MLIRContext &context;
  size_t position = 0;
  int depth = 0;
};
} // namespace

llvm::Expected<Attribute> MaskParser::either() {
  SmallVector<Attribute> parts;
  do {
    llvm::Expected<Attribute> part = both();
    if (!part)
      return part;
    parts.push_back(*part);
  } while (eat('|'));
  return parts.size() == 1 ? parts[0] : OrAttr::get(&context, parts);
}

llvm::Expected<Attribute> MaskParser::both() {
  SmallVector<Attribute> parts;
  do {
    llvm::Expected<Attribute> part = unary();
    if (!part)
      return part;
    parts.push_back(*part);
  } while (eat('&'));
  return parts.size() == 1 ? parts[0] : AndAttr::get(&context, parts);
}

llvm::Expected<Attribute> MaskParser::unary() {
  if (depth == kMaxDepth)
    return expected("at most " + std::to_string(kMaxDepth) + " nested parts");
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  if (eat('!')) {
    llvm::Expected<Attribute> part = unary();
    if (!part)
      return part;
    return NotAttr::get(&context, *part);
  }
  if (!eat('('))
    return atom();
  llvm::Expected<Attribute> inner = either();
  if (!inner)
    return inner;
  if (llvm::Error error = eatOr(')'))
    return error;
  return inner;
}

llvm::Expected<Attribute> MaskParser::atom() {
  llvm::StringRef name = skipSpace().take_while(
      [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_'; });
  size_t start = position;
  position += name.size();
  if (name == "none")
    return WindowAttr::get(&context, -1, -1, Align::BottomRight);
  if (name == "causal")
    return CausalAttr::get(&context, Align::BottomRight);
  if (name == "causal-topleft")
    return CausalAttr::get(&context, Align::TopLeft);
  if (name == "key-length")
    return KeyLengthAttr::get(&context);
  if (name == "window")
    return window(Align::BottomRight);
  if (name == "window-topleft")
    return window(Align::TopLeft);
  if (name == "prefix")
    return prefix();
  position = start;
  return expected("none, causal, causal-topleft, window(L,R), "
                  "window-topleft(L,R), prefix(N), key-length, ! or (");
}

llvm::Expected<Attribute> MaskParser::window(Align align) {
  if (llvm::Error error = eatOr('('))
    return error;
  llvm::Expected<int64_t> left = bound(-1);
  if (!left)
    return left.takeError();
  if (llvm::Error error = eatOr(','))
    return error;
  llvm::Expected<int64_t> right = bound(-1);
  if (!right)
    return right.takeError();
  if (llvm::Error error = eatOr(')'))
    return error;
  return WindowAttr::get(&context, *left, *right, align);
}

llvm::Expected<Attribute> MaskParser::prefix() {
  if (llvm::Error error = eatOr('('))
    return error;
  llvm::Expected<int64_t> length = bound(0);
  if (!length)
    return length.takeError();
  if (llvm::Error error = eatOr(')'))
    return error;
  return PrefixAttr::get(&context, *length);
}

llvm::Expected<int64_t> MaskParser::bound(int64_t smallest) {
  llvm::StringRef rest = skipSpace();
  int64_t value = 0;
  if (rest.consumeInteger(10, value) || value < smallest ||
      value > kMaxMaskBound)
    return expected("a number from " + std::to_string(smallest) + " to " +
                    std::to_string(kMaxMaskBound));
  position = text.size() - rest.size();
  return value;
}

llvm::Error MaskParser::eatOr(char c) {
  return eat(c) ? llvm::Error::success() : expected(std::string("'") + c + "'");
}

llvm::Expected<Attribute> flashc::parseMask(llvm::StringRef text,
                                            MLIRContext &context) {
  context.getOrLoadDialect<AttnDialect>();
  llvm::Expected<Attribute> mask = MaskParser(text, context).run();
  if (mask && *mask == WindowAttr::get(&context, -1, -1, Align::BottomRight))
    return Attribute();
  return mask;
}

// How tightly the connective of a mask binds: or 0, and 1, the rest 2.
static std::string print(Attribute mask, int outer) {
  auto join = [&](ArrayRef<Attribute> parts, llvm::StringRef sign, int level) {
    std::string text =
        llvm::join(llvm::map_range(
                       parts, [&](Attribute p) { return print(p, level + 1); }),
                   sign);
    return level < outer ? "(" + text + ")" : text;
  };
  auto topLeft = [](Align align) {
    return align == Align::TopLeft ? "-topleft" : "";
  };
  return TypeSwitch<Attribute, std::string>(mask)
      .Case<OrAttr>([&](OrAttr m) { return join(m.getParts(), " | ", 0); })
      .Case<AndAttr>([&](AndAttr m) { return join(m.getParts(), " & ", 1); })
      .Case<NotAttr>([&](NotAttr m) { return "!" + print(m.getPart(), 2); })
      .Case<CausalAttr>([&](CausalAttr m) {
        return fmt::format("causal{}", topLeft(m.getAlign()));
      })
      .Case<WindowAttr>([&](WindowAttr m) {
        return fmt::format("window{}({},{})", topLeft(m.getAlign()),
                           m.getLeft(), m.getRight());
      })
      .Case<PrefixAttr>([&](PrefixAttr m) {
        return fmt::format("prefix({})", m.getLength());
      })
      .Default([](Attribute) { return std::string("key-length"); });
}

std::string flashc::printMask(Attribute mask) {
  return mask ? print(mask, 0) : "none";
}
