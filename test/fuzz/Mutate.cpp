// Text to changed text. Tokens are words, numbers and single characters, so
// that a change hits a type, an attribute or an operand and not half of one.
#include "fuzz/Mutate.h"

#include <cctype>

using namespace flashc::fuzz;

using Tokens = std::vector<std::string>;

static bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '%' || c == '@' || c == '#' || c == '!' || c == '$';
}

/// The concatenation of the tokens is the text.
static Tokens split(const std::string &text) {
  Tokens tokens;
  for (char c : text) {
    if (isWord(c) && !tokens.empty() && isWord(tokens.back().back()))
      tokens.back() += c;
    else
      tokens.push_back(std::string(1, c));
  }
  return tokens;
}

static bool isNumber(const std::string &token) {
  return std::isdigit(static_cast<unsigned char>(token[0]));
}

static std::string numberFor(Random &random) {
  static const std::vector<std::string> numbers = {"0",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "15",
                                                   "16",
                                                   "17",
                                                   "63",
                                                   "64",
                                                   "65",
                                                   "127",
                                                   "128",
                                                   "192",
                                                   "255",
                                                   "256",
                                                   "257",
                                                   "1024",
                                                   "65536",
                                                   "2147483647",
                                                   "2147483648",
                                                   "-1",
                                                   "-2",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "1.0e30",
                                                   "0.0",
                                                   "1.0e-40",
                                                   "0x7FF0000000000000",
                                                   "99999999999999999999"};
  return random.oneIn(4) ? std::to_string(random.below(300))
                         : random.pick(numbers);
}

static std::string wordFor(Random &random) {
  static const std::vector<std::string> words = {"f16",
                                                 "bf16",
                                                 "f32",
                                                 "f64",
                                                 "i1",
                                                 "i8",
                                                 "i32",
                                                 "i64",
                                                 "index",
                                                 "i4",
                                                 "tensor",
                                                 "vector",
                                                 "memref",
                                                 "?",
                                                 "*",
                                                 "x",
                                                 "#attn.causal",
                                                 "#attn.key_length",
                                                 "#attn.prefix",
                                                 "#attn.not",
                                                 "#attn.or",
                                                 "#attn.and",
                                                 "#attn.window",
                                                 "mask",
                                                 "scale",
                                                 "layout",
                                                 "bhsd",
                                                 "kv_lengths",
                                                 "captures",
                                                 "arith.addf",
                                                 "arith.mulf",
                                                 "arith.divsi",
                                                 "arith.remui",
                                                 "arith.constant",
                                                 "arith.select",
                                                 "math.exp",
                                                 "math.log2",
                                                 "math.powf",
                                                 "tensor.extract",
                                                 "attn.yield",
                                                 "attn.forward",
                                                 "return",
                                                 "func.func",
                                                 "dense",
                                                 "true",
                                                 "<",
                                                 ">",
                                                 "[",
                                                 "]",
                                                 "(",
                                                 ")",
                                                 "{",
                                                 "}",
                                                 ":",
                                                 ",",
                                                 "->",
                                                 "=",
                                                 "loc",
                                                 "unit",
                                                 "none",
                                                 "private",
                                                 "attributes"};
  return random.pick(words);
}

static void changeOnce(Tokens &tokens, const std::vector<std::string> &pool,
                       Random &random) {
  if (tokens.empty())
    return;
  size_t at = random.below(tokens.size());
  switch (random.below(10)) {
  case 0:
    tokens.erase(tokens.begin() + at);
    return;
  case 1:
    tokens.insert(tokens.begin() + at, tokens[at]);
    return;
  case 2:
    tokens[at] = wordFor(random);
    return;
  case 3: // a token of the text itself: another operand, another type
    tokens[at] = tokens[random.below(tokens.size())];
    return;
  case 4: { // a run of tokens of another text
    Tokens other = split(random.pick(pool));
    if (other.empty())
      return;
    size_t from = random.below(other.size());
    size_t to = std::min(other.size(), from + 1 + random.below(20));
    tokens.insert(tokens.begin() + at, other.begin() + from,
                  other.begin() + to);
    return;
  }
  case 5: { // a run removed
    size_t to = std::min(tokens.size(), at + 1 + random.below(10));
    tokens.erase(tokens.begin() + at, tokens.begin() + to);
    return;
  }
  default: // mostly numbers: sizes are where the interesting limits are
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string &token = tokens[(at + i) % tokens.size()];
      if (isNumber(token)) {
        size_t digits = token.find_first_not_of("0123456789.");
        token = numberFor(random) +
                (digits == std::string::npos ? "" : token.substr(digits));
        return;
      }
    }
  }
}

std::string flashc::fuzz::mutate(const std::string &text,
                                 const std::vector<std::string> &pool,
                                 Random &random) {
  Tokens tokens = split(text);
  for (size_t i = 0, n = 1 + random.below(random.oneIn(3) ? 8 : 2); i < n; ++i)
    changeOnce(tokens, pool, random);
  std::string result;
  for (const std::string &token : tokens)
    result += token;
  return random.oneIn(20) ? mutateBytes(std::move(result), random) : result;
}

std::string flashc::fuzz::mutateBytes(std::string bytes, Random &random) {
  for (size_t i = 0, n = 1 + random.below(4); i < n && !bytes.empty(); ++i) {
    size_t at = random.below(bytes.size());
    switch (random.below(5)) {
    case 0:
      bytes.erase(at, 1 + random.below(8));
      break;
    case 1:
      bytes.insert(at, 1, static_cast<char>(random.next()));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes[at] ^= 1 << random.below(8);
      break;
    default:
      bytes[at] = "0123456789()<>,'{}:-"[random.below(20)];
    }
  }
  return bytes;
}
