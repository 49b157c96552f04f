// .npy files: bytes as NumPy writes them, and everything that is refused.
#include "unittests/Catch.h"

#include "flashc/Support/File.h"
#include "flashc/Support/Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <random>

using namespace flashc;

namespace {
/// A file of format version 1 with this header and data.
std::string npy(std::string header, std::string data) {
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  bytes += char(header.size() & 0xff);
  bytes += char(header.size() >> 8);
  return bytes + header + data;
}

std::string header(std::string descr, std::string order, std::string shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }\n";
}

std::string errorOf(const std::string &bytes) {
  llvm::Expected<NpyArray> array = parseNpy(bytes, "x.npy");
  return array ? "" : llvm::toString(array.takeError());
}

struct TempFolder {
  llvm::SmallString<128> path;
  TempFolder() {
    REQUIRE(!llvm::sys::fs::createUniqueDirectory("npy-test", path));
  }
  ~TempFolder() { llvm::sys::fs::remove_directories(path); }
  std::string file(llvm::StringRef name) const {
    return (path + "/" + name).str();
  }
  size_t entries() const {
    std::error_code error;
    size_t count = 0;
    for (llvm::sys::fs::directory_iterator at(path, error), end;
         at != end && !error; at.increment(error))
      ++count;
    return count;
  }
};
} // namespace

TEST_CASE("npy: what numpy.save writes is read") {
  float values[] = {1, 2, 3, 4, 5, 6};
  std::string data(reinterpret_cast<char *>(values), sizeof values);
  llvm::Expected<NpyArray> array =
      parseNpy(npy(header("<f4", "False", "(2, 3)"), data), "x.npy");
  REQUIRE(bool(array));
  CHECK(array->dtype == NpyArray::DType::F32);
  CHECK(array->shape == llvm::SmallVector<int64_t>{2, 3});
  CHECK(array->as<float>()[5] == 6);
  CHECK(errorOf(npy(header("<f4", "True", "(6,)"), data)) ==
        ""); // one dimension has one order
  CHECK(errorOf(npy(header("|b1", "False", "()"), "\1")) == "");
  CHECK(errorOf(npy(header("<f2", "False", "(0, 9)"), "")) == "");
}

TEST_CASE("npy: written and read back, every dtype and rank") {
  TempFolder folder;
  std::string path = folder.file("a.npy");
  using D = NpyArray::DType;
  for (D dtype : {D::F16, D::F32, D::F64, D::I8, D::I16, D::I32, D::I64, D::U8,
                  D::U16, D::U32, D::U64, D::Bool})
    for (llvm::SmallVector<int64_t> shape :
         {llvm::SmallVector<int64_t>{}, {5}, {0, 3}, {2, 3, 4, 5}}) {
      NpyArray array(dtype, shape);
      for (size_t i = 0; i < array.data.size(); ++i)
        array.data[i] = i % 2;
      REQUIRE(llvm::toString(writeNpy(path, array)) == "");
      llvm::Expected<NpyArray> back = readNpy(path);
      REQUIRE(bool(back));
      CHECK(back->dtype == dtype);
      CHECK(back->shape == shape);
      CHECK(back->data == array.data);
    }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  CHECK((*buffer)->getBuffer().find('\n') % 64 ==
        63); // data starts at a multiple of 64
  CHECK(folder.entries() == 1);
}

TEST_CASE("npy: a dimension of 0 beside huge ones") {
  std::string shape = "(4611686018427387904, 4611686018427387904, 0)";
  llvm::Expected<NpyArray> array =
      parseNpy(npy(header("<f2", "False", shape), ""), "x.npy");
  REQUIRE(bool(array));
  CHECK(array->numElements() == 0);
}

TEST_CASE("npy: each refusal says what and what to do") {
  std::string two(4, 'x');
  CHECK(errorOf("hello") == "'x.npy' is not a .npy file: it does not start "
                            "with \"\\x93NUMPY\"; write it with numpy.save");
  CHECK_THAT(errorOf(std::string("\x93NUMPY\x07\0aa", 10)),
             Catch::Contains("version 7"));
  CHECK_THAT(errorOf(npy(header("<f2", "False", "(2,)"), two).substr(0, 30)),
             Catch::Contains("is cut off"));
  CHECK_THAT(errorOf(npy(header("<f2", "False", "(2,)"), two).substr(0, 9)),
             Catch::Contains("is cut off"));
  CHECK(errorOf(npy(header("<f2", "True", "(1, 2)"), two)) ==
        "'x.npy' is in Fortran (column-major) order, but row-major order is "
        "read; save numpy.ascontiguousarray(array)");
  CHECK(errorOf(npy(header(">f2", "False", "(2,)"), two)) ==
        "'x.npy' holds big-endian data ('>f2'), but little-endian ('<f2') is "
        "read; save array.astype('<f2')");
  CHECK_THAT(errorOf(npy(header("<c8", "False", "(2,)"), two)),
             Catch::Contains("elements of type '<c8'"));
  CHECK(errorOf(npy(header("<f2", "False", "(3,)"), two)) ==
        "'x.npy' has 4 bytes of data, but its shape (3,) of float16 needs 6; "
        "write it again with numpy.save");
  CHECK_THAT(errorOf(npy(header("<f2", "False", "(1,)"), two)),
             Catch::Contains("needs 2"));
  CHECK_THAT(
      errorOf(npy(header("<f2", "False", "(9223372036854775807, 4)"), two)),
      Catch::Contains("more than 2^63"));
  for (std::string bad :
       {"{}", "{'descr': '<f2'}", "[1]",
        "{'descr': <f2, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f2', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f2"})
    CHECK_THAT(errorOf(npy(bad, two)),
               Catch::Contains("has a header that cannot be read"));
}

TEST_CASE("npy: rank and dtype") {
  NpyArray array(NpyArray::DType::I32, {2, 3});
  CHECK(llvm::toString(checkNpy(array, "query", 2, {NpyArray::DType::I32})) ==
        "");
  CHECK(llvm::toString(checkNpy(array, "query", 4, {NpyArray::DType::I32})) ==
        "query has shape (2, 3) of rank 2, but rank 4 is needed; reshape the "
        "array");
  CHECK(llvm::toString(checkNpy(
            array, "query", 2, {NpyArray::DType::F16, NpyArray::DType::F32})) ==
        "query has dtype int32, but float16 or float32 is needed; convert it "
        "with array.astype");
}

TEST_CASE("npy: missing files, and folders in the way") {
  TempFolder folder;
  llvm::Expected<NpyArray> none = readNpy(folder.file("none.npy"));
  CHECK_THAT(llvm::toString(none.takeError()),
             Catch::Contains("none.npy") && Catch::Contains("No such file"));
  llvm::Expected<NpyArray> dir = readNpy(folder.path);
  CHECK_THAT(llvm::toString(dir.takeError()), Catch::Contains("cannot read"));
  NpyArray array(NpyArray::DType::F16, {3});
  CHECK_THAT(llvm::toString(writeNpy(folder.file("no/such.npy"), array)),
             Catch::Contains("cannot write"));
  CHECK_THAT(llvm::toString(writeNpy("/dev/full", array)),
             Catch::Contains("No space left"));
  CHECK(llvm::toString(writeNpy("/dev/null", array)) == "");
  CHECK_FALSE(llvm::sys::fs::is_regular_file("/dev/null"));
}

TEST_CASE("npy: any bytes give an array or an error") {
  std::mt19937 random(7);
  std::string good =
      npy(header("<f2", "False", "(2, 3)"), std::string(12, 'x'));
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int edits = 1 + random() % 4; edits; --edits)
      switch (random() % 3) {
      case 0:
        bytes[random() % bytes.size()] = char(random());
        break;
      case 1:
        bytes.resize(random() % bytes.size() + 1);
        break;
      default:
        bytes.insert(random() % bytes.size(), 1, char(random()));
      }
    llvm::Expected<NpyArray> array = parseNpy(bytes, "x.npy");
    if (!array)
      llvm::consumeError(array.takeError());
    else if (int64_t(array->data.size()) !=
             array->numElements() * elementBytes(array->dtype))
      FAIL("an array whose data is not of its shape");
  }
}
