//===- Npy.cpp - Read and write .npy --------------------------------------===//
//
// The tools' arrays come in and go out here. The format (NEP 1): "\x93NUMPY",
// two version bytes, the header's length (2 bytes in version 1, 4 after), a
// Python dictionary as text, then the elements. Any bytes may come in: each
// read is checked, and nothing is allocated by what the header claims.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/Npy.h"
#include "NpyHeader.h"
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
                       name, printableBytes(descr), row.code.str(),
                       row.code.str());
  }
  return makeError("'{}' holds elements of type '{}', which is not read; save "
                   "float16, float32, int32 or bfloat16 as uint16",
                   name, printableBytes(descr));
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
  if (llvm::is_contained(shape, 0)) // the product of the rest may overflow
    return 0;
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
  llvm::Expected<NpyHeader> header = takeNpyHeader(bytes, name);
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
  size_t before = kNpyMagic.size() + 2 + (wide ? 4 : 2);
  text.append(llvm::alignTo(before + text.size() + 1, 64) - before -
                  text.size() - 1,
              ' ');
  text.push_back('\n');
  char version[2] = {static_cast<char>(wide ? 2 : 1), 0};
  char length[4];
  llvm::support::endian::write32le(length, text.size());
  return writeFile(path,
                   {kNpyMagic, llvm::StringRef(version, 2),
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
