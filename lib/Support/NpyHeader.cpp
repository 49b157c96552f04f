//===- NpyHeader.cpp - Parse a .npy file's header -------------------------===//
//
// Before the data is looked at. Any bytes may come in; each read is checked.
//
//===----------------------------------------------------------------------===//
#include "NpyHeader.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <optional>

using namespace flashc;

namespace {
/// A reader of the header's Python dictionary: string keys; values that are
/// strings, booleans or tuples of integers.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest(text) {}

  std::optional<NpyHeader> parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    if (!eat("{"))
      return std::nullopt;
    while (!eat("}")) {
      std::optional<std::string> key = string();
      if (!key || !eat(":"))
        return std::nullopt;
      bool *seen = *key == "descr"           ? &descr
                   : *key == "fortran_order" ? &order
                   : *key == "shape"         ? &shape
                                             : nullptr;
      if (!seen || *seen || !value(*key, header))
        return std::nullopt;
      *seen = true;
      if (!eat(",") && !peek("}"))
        return std::nullopt;
    }
    if (!descr || !order || !shape)
      return std::nullopt;
    return header;
  }

private:
  bool value(llvm::StringRef key, NpyHeader &header) {
    if (key == "shape")
      return tuple(header.shape);
    if (key == "fortran_order") {
      header.fortranOrder = eat("True");
      return header.fortranOrder || eat("False");
    }
    std::optional<std::string> text = string();
    header.descr = text.value_or("");
    return text.has_value();
  }

  bool tuple(llvm::SmallVectorImpl<int64_t> &out) {
    if (!eat("("))
      return false;
    while (!eat(")")) {
      int64_t dim = 0;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, dim) || dim < 0)
        return false;
      out.push_back(dim);
      if (!eat(",") && !peek(")"))
        return false;
    }
    return true;
  }

  std::optional<std::string> string() {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return std::nullopt;
    size_t end = rest.find(rest[0], 1);
    if (end == llvm::StringRef::npos)
      return std::nullopt;
    std::string text = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return text;
  }

  bool peek(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.starts_with(token);
  }
  bool eat(llvm::StringRef token) {
    return peek(token) && rest.consume_front(token);
  }

  llvm::StringRef rest;
};
} // namespace

std::string flashc::printableBytes(llvm::StringRef text) {
  std::string out;
  llvm::raw_string_ostream os(out);
  llvm::printEscapedString(text.take_front(60), os);
  return out;
}

llvm::Expected<NpyHeader> flashc::takeNpyHeader(llvm::StringRef &bytes,
                                                const std::string &name) {
  if (!bytes.consume_front(kNpyMagic) || bytes.size() < 2)
    return makeError("'{}' is not a .npy file: it does not start with "
                     "\"\\x93NUMPY\"; write it with numpy.save",
                     name);
  unsigned version = static_cast<uint8_t>(bytes[0]);
  if (version < 1 || version > 3)
    return makeError("'{}' has .npy format version {}, but versions 1 to 3 are "
                     "read; write it with numpy.save",
                     name, version);
  bytes = bytes.drop_front(2);
  size_t lengthBytes = version == 1 ? 2 : 4;
  uint64_t length = 0;
  if (bytes.size() >= lengthBytes)
    length = version == 1 ? llvm::support::endian::read16le(bytes.data())
                          : llvm::support::endian::read32le(bytes.data());
  if (bytes.size() < lengthBytes + length)
    return makeError("'{}' is cut off: its header should have {} bytes, but {} "
                     "are left; write it again",
                     name, length,
                     bytes.size() - std::min(bytes.size(), lengthBytes));
  llvm::StringRef text = bytes.substr(lengthBytes, length);
  bytes = bytes.drop_front(lengthBytes + length);
  std::optional<NpyHeader> header = HeaderParser(text).parse();
  if (!header)
    return makeError("'{}' has a header that cannot be read: \"{}\"; it should "
                     "be {{'descr': '<f2', 'fortran_order': False, 'shape': "
                     "(2, 3), }}",
                     name, printableBytes(text));
  return *header;
}
