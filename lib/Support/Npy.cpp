//===- Npy.cpp - Read and write .npy --------------------------------------===//
//
// The tools' arrays come in and go out here. The format (NEP 1): "\x93NUMPY",
// two version bytes, the header's length (2 bytes in version 1, 4 after), a
// Python dictionary as text, then the elements. Any bytes may come in: each
// read is checked, and nothing is allocated by what the header claims.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/Npy.h"
#include "flashc/Support/Error.h"
#include "flashc/Support/File.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace flashc;

namespace {
struct DTypeRow {
  NpyArray::DType dtype;
  llvm::StringRef code, name;
  int64_t bytes;
};
using D = NpyArray::DType;
constexpr DTypeRow kDTypes[] = {
    {D::F16, "f2", "float16", 2}, {D::F32, "f4", "float32", 4},
    {D::F64, "f8", "float64", 8}, {D::I8, "i1", "int8", 1},
    {D::I16, "i2", "int16", 2},   {D::I32, "i4", "int32", 4},
    {D::I64, "i8", "int64", 8},   {D::U8, "u1", "uint8", 1},
    {D::U16, "u2", "uint16", 2},  {D::U32, "u4", "uint32", 4},
    {D::U64, "u8", "uint64", 8},  {D::Bool, "b1", "bool", 1}};

const DTypeRow &row(D dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

constexpr llvm::StringLiteral kMagic("\x93NUMPY");

/// What a header says.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  llvm::SmallVector<int64_t> shape;
};

/// A reader of the header's Python dictionary: string keys; values that are
/// strings, booleans or tuples of integers.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest(text) {}

  std::optional<Header> parse() {
    Header header;
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
  bool value(llvm::StringRef key, Header &header) {
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

/// Bytes in an error's text: what cannot be printed is escaped.
std::string printable(llvm::StringRef text) {
  std::string out;
  llvm::raw_string_ostream os(out);
  llvm::printEscapedString(text.take_front(60), os);
  return out;
}

/// Take the magic, version and header off `bytes`.
llvm::Expected<Header> takeHeader(llvm::StringRef &bytes,
                                  const std::string &name) {
  if (!bytes.consume_front(kMagic) || bytes.size() < 2)
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
  std::optional<Header> header = HeaderParser(text).parse();
  if (!header)
    return makeError("'{}' has a header that cannot be read: \"{}\"; it should "
                     "be {{'descr': '<f2', 'fortran_order': False, 'shape': "
                     "(2, 3), }}",
                     name, printable(text));
  return *header;
}

llvm::Expected<const DTypeRow *> findDType(llvm::StringRef descr,
                                           const std::string &name) {
  char order = descr.empty() ? 0 : descr[0];
  llvm::StringRef code = descr.drop_front(order ? 1 : 0);
  for (const DTypeRow &row : kDTypes) {
    if (code != row.code)
      continue;
    if (order == '<' || order == '=' || (order == '|' && row.bytes == 1))
      return &row;
    if (order == '>')
      return makeError("'{}' holds big-endian data ('{}'), but little-endian "
                       "('<{}') is read; save array.astype('<{}')",
                       name, printable(descr), row.code.str(), row.code.str());
  }
  return makeError("'{}' holds elements of type '{}', which is not read; save "
                   "float16, float32, int32 or bfloat16 as uint16",
                   name, printable(descr));
}

/// Bytes that the shape needs, or nullopt past 2^63.
std::optional<int64_t> bytesOf(llvm::ArrayRef<int64_t> shape, int64_t element) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t total = element;
  for (int64_t dim : shape)
    if (llvm::MulOverflow(total, dim, total))
      return std::nullopt;
  return total;
}

std::string headerText(const NpyArray &array) {
  llvm::StringRef code = row(array.dtype).code;
  return fmt::format(
      "{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
      row(array.dtype).bytes == 1 ? '|' : '<', code.str(),
      shapeText(array.shape));
}
} // namespace

NpyArray::NpyArray(DType dtype, llvm::ArrayRef<int64_t> shape)
    : dtype(dtype), shape(shape), data(numElements() * elementBytes(dtype)) {}

int64_t NpyArray::numElements() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

int64_t flashc::elementBytes(NpyArray::DType dtype) { return row(dtype).bytes; }

llvm::StringRef flashc::dtypeName(NpyArray::DType dtype) {
  return row(dtype).name;
}

std::string flashc::shapeText(llvm::ArrayRef<int64_t> shape) {
  if (shape.size() == 1)
    return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

llvm::Expected<NpyArray> flashc::parseNpy(llvm::StringRef bytes,
                                          llvm::StringRef path) {
  std::string name = path.str();
  llvm::Expected<Header> header = takeHeader(bytes, name);
  if (!header)
    return header.takeError();
  llvm::Expected<const DTypeRow *> type = findDType(header->descr, name);
  if (!type)
    return type.takeError();
  if (header->fortranOrder && header->shape.size() > 1)
    return makeError("'{}' is in Fortran (column-major) order, but row-major "
                     "order is read; save numpy.ascontiguousarray(array)",
                     name);
  std::optional<int64_t> need = bytesOf(header->shape, (*type)->bytes);
  if (!need || *need != static_cast<int64_t>(bytes.size()))
    return makeError("'{}' has {} bytes of data, but its shape {} of {} needs "
                     "{}; write it again with numpy.save",
                     name, bytes.size(), shapeText(header->shape),
                     (*type)->name.str(),
                     need ? std::to_string(*need) : "more than 2^63");
  NpyArray array;
  array.dtype = (*type)->dtype;
  array.shape = header->shape;
  array.data.assign(bytes.begin(), bytes.end());
  return array;
}

llvm::Expected<NpyArray> flashc::readNpy(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("cannot read '{}': {}; give the path of a .npy file",
                     path.str(), buffer.getError().message());
  return parseNpy((*buffer)->getBuffer(), path);
}

llvm::Error flashc::writeNpy(llvm::StringRef path, const NpyArray &array) {
  std::string text = headerText(array);
  // Data starts at a multiple of 64 bytes; the header ends in a newline.
  bool wide = text.size() + 128 > 0xffff;
  size_t before = kMagic.size() + 2 + (wide ? 4 : 2);
  text.append(llvm::alignTo(before + text.size() + 1, 64) - before -
                  text.size() - 1,
              ' ');
  text.push_back('\n');
  char version[2] = {static_cast<char>(wide ? 2 : 1), 0};
  char length[4];
  llvm::support::endian::write32le(length, text.size());
  return writeFile(path,
                   {kMagic, llvm::StringRef(version, 2),
                    llvm::StringRef(length, wide ? 4 : 2), text,
                    llvm::StringRef(array.data.data(), array.data.size())});
}

llvm::Error flashc::checkNpy(const NpyArray &array, llvm::StringRef what,
                             size_t rank,
                             llvm::ArrayRef<NpyArray::DType> dtypes) {
  if (array.shape.size() != rank)
    return makeError("{} has shape {} of rank {}, but rank {} is needed; "
                     "reshape the array",
                     what.str(), shapeText(array.shape), array.shape.size(),
                     rank);
  if (llvm::is_contained(dtypes, array.dtype))
    return llvm::Error::success();
  std::vector<std::string> names;
  for (NpyArray::DType dtype : dtypes)
    names.push_back(dtypeName(dtype).str());
  return makeError("{} has dtype {}, but {} is needed; convert it with "
                   "array.astype",
                   what.str(), dtypeName(array.dtype).str(),
                   fmt::join(names, " or "));
}
