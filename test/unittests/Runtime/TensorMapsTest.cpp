// The numbers of tensor maps, without a driver.
#include "unittests/Catch.h"

#include "flashc/Runtime/Arguments.h"

using namespace flashc;

namespace {
KernelParam param(int64_t headDim, const char *type = "f16") {
  return {ParamKind::Key, "k", type, {-1, -1, -1, headDim}, {-1, -1, -1, 1}};
}

TensorMapDescription describe(const ArrayArg &array, int64_t rows,
                              const char *type = "f16") {
  return llvm::cantFail(
      describeTensorMap("fwd", param(array.shape[3], type), array, rows));
}

std::string errorOf(const ArrayArg &array) {
  auto map = describeTensorMap("fwd", param(array.shape[3]), array, 64);
  return map ? "" : llvm::toString(map.takeError());
}

/// Batch 2, 3 heads, length 70, in layout bshd.
ArrayArg bshd(int64_t headDim) {
  return {
      0x1000, {2, 3, 70, headDim}, {70 * 3 * headDim, headDim, 3 * headDim, 1}};
}
} // namespace

TEST_CASE("tensor maps: whole rows where they are slabs of 64 columns") {
  TensorMapDescription map = describe(bshd(128), 96);
  CHECK(map.elementType == 6);
  CHECK(map.address == 0x1000);
  CHECK(map.sizes == llvm::SmallVector<uint64_t, 5>{64, 70, 2, 3, 2});
  CHECK(map.byteStrides ==
        llvm::SmallVector<uint64_t, 4>{768, 128, 256, 70 * 768});
  CHECK(map.box == llvm::SmallVector<uint32_t, 5>{64, 96, 2, 1, 1});
  CHECK(describe(bshd(64), 96, "bf16").elementType == 9);
  CHECK(describe(bshd(64), 96).box ==
        llvm::SmallVector<uint32_t, 5>{64, 96, 1, 1, 1});
}

TEST_CASE("tensor maps: 64 columns of a row where they are not") {
  for (int64_t headDim : {8, 40, 72, 200}) {
    TensorMapDescription map = describe(bshd(headDim), 64);
    uint64_t row = 2 * headDim;
    CHECK(map.sizes ==
          llvm::SmallVector<uint64_t, 5>{uint64_t(headDim), 70, 3, 2});
    CHECK(map.byteStrides ==
          llvm::SmallVector<uint64_t, 4>{3 * row, row, 70 * 3 * row});
    CHECK(map.box == llvm::SmallVector<uint32_t, 5>{64, 64, 1, 1});
  }
}

TEST_CASE("tensor maps: a stride that moves nothing is replaced") {
  ArrayArg one = {0x1000, {1, 1, 1, 128}, {7, -5, int64_t(1) << 60, 1}};
  TensorMapDescription map = describe(one, 64);
  CHECK(map.sizes == llvm::SmallVector<uint64_t, 5>{64, 1, 2, 1, 1});
  CHECK(map.byteStrides == llvm::SmallVector<uint64_t, 4>{256, 128, 256, 256});
}

TEST_CASE("tensor maps: arrays without elements are rows of zeros") {
  ArrayArg empty = {0, {2, 3, 0, 128}, {0, 128, 384, 1}};
  TensorMapDescription map = describe(empty, 64);
  CHECK(map.address == 0);
  CHECK(map.sizes == llvm::SmallVector<uint64_t, 5>{64, 1, 2, 1, 1});
  CHECK(map.byteStrides == llvm::SmallVector<uint64_t, 4>{256, 128, 256, 256});
  empty = {0x1001, {2, 3, 0, 40}, {0, 3, 5, 1}}; // nothing is read there
  CHECK(describe(empty, 64).address == 0x1000);
  CHECK(describe(empty, 64).sizes ==
        llvm::SmallVector<uint64_t, 5>{40, 1, 1, 1});
}

TEST_CASE("tensor maps: heads and batches may share rows") {
  ArrayArg shared = bshd(128);
  shared.strides[0] = shared.strides[1] = 0;
  CHECK(describe(shared, 64).byteStrides ==
        llvm::SmallVector<uint64_t, 4>{768, 128, 0, 0});
}

TEST_CASE("tensor maps: refusals name the array and both values") {
  ArrayArg array = bshd(64);
  array.pointer = 0x1008;
  CHECK(errorOf(array) ==
        "kernel 'fwd', array 'k': its address 0x1008 is not a multiple of the "
        "16 bytes that its tensor map needs; copy it to an aligned one, or "
        "compile with a smaller --alignment, which does without tensor maps");
  array = bshd(64);
  array.strides[2] = 196;
  CHECK(errorOf(array) ==
        "kernel 'fwd', array 'k': dimension 2 has a stride of 196 elements of "
        "2 bytes, but its tensor map needs a multiple of 16 bytes from 0 to "
        "less than 1099511627776; copy it to an aligned one, or compile with a "
        "smaller --alignment, which does without tensor maps");
  array.strides[2] = -192;
  CHECK_THAT(errorOf(array), Catch::Contains("a stride of -192 elements"));
  array.strides[2] = 192;
  array.strides[0] = (int64_t(1) << 39) - 8;
  CHECK(errorOf(array) == "");
  array.strides[0] = int64_t(1) << 39;
  CHECK_THAT(errorOf(array), Catch::Contains("dimension 0 has a stride of "
                                             "549755813888 elements"));
  array.strides[0] = int64_t(1) << 62; // its bytes do not fit 64 bits
  CHECK_THAT(errorOf(array), Catch::Contains("dimension 0 has a stride of "));
}
