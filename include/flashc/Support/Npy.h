//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
#ifndef FLASHC_SUPPORT_NPY_H
#define FLASHC_SUPPORT_NPY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashc {

/// A dense array in row-major order, little-endian, on the host. bfloat16 has
/// no name in NumPy and travels as U16.
struct NpyArray {
  enum class DType {
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool
  };
  DType dtype = DType::F32;
  llvm::SmallVector<int64_t> shape;
  /// `numElements() * elementBytes(dtype)` bytes.
  std::vector<char> data;

  NpyArray() = default;
  /// Zero-filled. The product of the shape must be known to fit in memory.
  NpyArray(DType dtype, llvm::ArrayRef<int64_t> shape);

  int64_t numElements() const;
  template <typename T> T *as() { return reinterpret_cast<T *>(data.data()); }
  template <typename T> const T *as() const {
    return reinterpret_cast<const T *>(data.data());
  }
};

/// Bytes of one element.
int64_t elementBytes(NpyArray::DType dtype);
/// NumPy's name: "float16", "uint16", "bool"...
llvm::StringRef dtypeName(NpyArray::DType dtype);
/// "(2, 3)", as NumPy prints a shape.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Read a file of format version 1, 2 or 3. Fails, with the path in the text,
/// on a missing file, one that is not .npy, an unsupported dtype, Fortran
/// order, big-endian data, and data shorter or longer than the shape needs.
/// Memory is asked for only after the file's size has been compared.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

/// As `readNpy`, from bytes; `name` stands for the path in errors.
llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name);

/// Write format version 1.0 (2.0 where the header needs it), whole or not at
/// all.
llvm::Error writeNpy(llvm::StringRef path, const NpyArray &array);

/// The error of an array whose rank or dtype is not the expected one; success
/// if both are. `what` names the array ("query").
llvm::Error checkNpy(const NpyArray &array, llvm::StringRef what, size_t rank,
                     llvm::ArrayRef<NpyArray::DType> dtypes);

} // namespace flashc

#endif // FLASHC_SUPPORT_NPY_H
