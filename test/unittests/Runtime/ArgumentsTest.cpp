// What a launch's parameters look like, and every refusal.
#include "unittests/Catch.h"

#include "flashc/Runtime/Arguments.h"

using namespace flashc;

namespace {
using Shape = llvm::SmallVector<int64_t, 4>;

Manifest manifest() {
  Shape rows{-1, -1, -1, 64}, strides{-1, -1, -1, 1};
  Manifest m;
  m.params = {{ParamKind::Query, "q", "f16", rows, strides},
              {ParamKind::Key, "k", "f16", rows, strides},
              {ParamKind::Value, "v", "f16", rows, strides},
              {ParamKind::KvLengths, "kv_lengths", "i32", {-1}, {}},
              {ParamKind::Capture, "bias", "f32", {-1, 5}, {}},
              {ParamKind::Output, "o", "f16", rows, strides},
              {ParamKind::Lse, "lse", "f32", {-1, -1, -1}, {-1, -1, 1}}};
  m.qBlock = 64;
  m.warps = 4;
  m.alignment = 16;
  return m;
}

/// B 2, Hq 6, Hkv 3, Sq 100, Sk 70 in layout bshd.
std::vector<ArrayArg> arrays() {
  auto bshd = [](uint64_t at, int64_t heads, int64_t length) {
    return ArrayArg{
        at, {2, heads, length, 64}, {length * heads * 64, 64, heads * 64, 1}};
  };
  return {bshd(0x1000, 6, 100),
          bshd(0x2000, 3, 70),
          bshd(0x3000, 3, 70),
          {0x4000, {2}, {}},
          {0x5004, {9, 5}, {}},
          bshd(0x6000, 6, 100),
          {0x7000, {2, 6, 100}, {600, 100, 1}}};
}

template <typename F> std::string errorAfter(F change) {
  Manifest m = manifest();
  std::vector<ArrayArg> args = arrays();
  change(m, args);
  llvm::Expected<PackedArguments> packed = packArguments("fwd", m, args);
  return packed ? "" : llvm::toString(packed.takeError());
}
} // namespace

TEST_CASE("arguments: pointer, dynamic sizes, dynamic strides of each array") {
  llvm::Expected<PackedArguments> packed =
      packArguments("fwd", manifest(), arrays());
  REQUIRE(bool(packed));
  CHECK(packed->grid == 2 * 6 * 2);
  CHECK(packed->threads == 128);
  CHECK(packed->slots ==
        std::vector<uint64_t>{0x1000, 2, 6,      100, 38400, 64, 384, //
                              0x2000, 2, 3,      70,  13440, 64, 192, //
                              0x3000, 2, 3,      70,  13440, 64, 192, //
                              0x4000, 2, 0x5004, 9,                   //
                              0x6000, 2, 6,      100, 38400, 64, 384, //
                              0x7000, 2, 6,      100, 600,   100});
}

TEST_CASE("arguments: static sizes and strides take no parameter") {
  Manifest m = manifest();
  m.params.resize(1);
  m.params[0].shape = {-1, 6, -1, 64};
  std::vector<ArrayArg> args = arrays();
  args.resize(1);
  CHECK(llvm::cantFail(packArguments("fwd", m, args)).slots ==
        std::vector<uint64_t>{0x1000, 2, 100, 38400, 64, 384});
}

namespace {
/// One query of 6 heads, in layout bshd.
std::vector<ArrayArg> decoding() {
  std::vector<ArrayArg> args = arrays();
  args[0] = {0x1000, {2, 6, 1, 64}, {384, 64, 384, 1}};
  args[5] = {0x6000, {2, 6, 1, 64}, {384, 64, 384, 1}};
  args[6] = {0x7000, {2, 6, 1}, {6, 1, 1}};
  return args;
}

Manifest alike() {
  Manifest m = manifest();
  m.rowsAlike = true;
  return m;
}
} // namespace

TEST_CASE("arguments: rows of the query heads of a key head in one tile") {
  Manifest m = alike();
  m.tensorMaps = {{0, 64}};
  auto packed = llvm::cantFail(packArguments("fwd", m, decoding()));
  CHECK(packed.grid == 2 * 3);
  CHECK(packed.tensorMaps[0].sizes ==
        llvm::SmallVector<uint64_t, 5>{64, 2, 1, 3, 2});
  CHECK(packed.tensorMaps[0].byteStrides[0] == 2 * 64);
  CHECK(packed.slots ==
        std::vector<uint64_t>{0x1000, 2, 3,      2,  384,   128, 64,  //
                              0x2000, 2, 3,      70, 13440, 64,  192, //
                              0x3000, 2, 3,      70, 13440, 64,  192, //
                              0x4000, 2, 0x5004, 9,                   //
                              0x6000, 2, 3,      2,  384,   128, 64,  //
                              0x7000, 2, 3,      2,  6,     2});
  // Ten queries that lie head by head: 2 * 10 rows of 64.
  std::vector<ArrayArg> args = decoding();
  args[0] = {0x1000, {2, 6, 10, 64}, {3840, 640, 64, 1}};
  args[5] = {0x6000, {2, 6, 10, 64}, {3840, 640, 64, 1}};
  args[6] = {0x7000, {2, 6, 10}, {60, 10, 1}};
  auto together = packHeads(alike(), args);
  REQUIRE(together);
  CHECK((*together)[0] ==
        ArrayArg{0x1000, {2, 3, 20, 64}, {3840, 1280, 64, 1}});
  CHECK((*together)[1] == args[1]);
  CHECK((*together)[6] == ArrayArg{0x7000, {2, 3, 20}, {60, 20, 1}});
}

TEST_CASE("arguments: heads that stay in tiles of their own") {
  auto none = [](auto change) {
    Manifest m = alike();
    std::vector<ArrayArg> args = decoding();
    change(m, args);
    return !packHeads(m, args);
  };
  CHECK_FALSE(none([](Manifest &, auto &) {}));
  CHECK(none([](Manifest &m, auto &) { m.rowsAlike = false; }));
  // A kernel for so many heads alone.
  CHECK(none([](Manifest &m, auto &) { m.params[0].shape[1] = 6; }));
  CHECK(none([](Manifest &m, auto &) { m.params[5].shape[2] = 1; }));
  CHECK(none([](Manifest &m, auto &) { m.params[0].strides[1] = 64; }));
  // A key head for each query head.
  CHECK(none([](Manifest &, auto &args) {
    args[1] = args[2] = {0x2000, {2, 6, 70, 64}, {26880, 64, 384, 1}};
  }));
  // LSE's heads apart, where the kernel takes rows side by side.
  CHECK(none([](Manifest &, auto &args) { args[6].strides = {12, 2, 1}; }));
  // Queries of a head are apart by more than those of the next one.
  CHECK(none([](Manifest &, auto &args) {
    args[0] = {0x1000, {2, 6, 10, 64}, {3840, 64, 384, 1}};
    args[5] = {0x6000, {2, 6, 10, 64}, {3840, 64, 384, 1}};
    args[6] = {0x7000, {2, 6, 10}, {60, 10, 1}};
  }));
  // As many tiles in any case.
  CHECK(none([](Manifest &, auto &args) {
    args[0] = {0x1000, {2, 6, 64, 64}, {24576, 4096, 64, 1}};
    args[5] = {0x6000, {2, 6, 64, 64}, {24576, 4096, 64, 1}};
    args[6] = {0x7000, {2, 6, 64}, {384, 64, 1}};
  }));
  CHECK(none([](Manifest &, auto &args) {
    args[0] = {0, {2, 6, 0, 64}, {0, 0, 0, 1}};
  }));
  CHECK(none([](Manifest &, auto &args) { // a head fills a tile
    args[0] = {0x1000, {2, 6, 65, 64}, {24960, 4160, 64, 1}};
    args[5] = {0x6000, {2, 6, 65, 64}, {24960, 4160, 64, 1}};
    args[6] = {0x7000, {2, 6, 65}, {390, 65, 1}};
  }));
  CHECK(none([](Manifest &, auto &args) { // 2^32 rows
    int64_t heads = int64_t(1) << 30;
    args[0] = {0x1000, {1, heads, 4, 64}, {heads * 256, 256, 64, 1}};
    args[1] = args[2] = {0x2000, {1, 1, 70, 64}, {4480, 4480, 64, 1}};
    args[5] = args[0];
    args[6] = {0x7000, {1, heads, 4}, {heads * 4, 4, 1}};
  }));
  // A manifest of somebody else's kernel.
  CHECK(none([](Manifest &m, auto &args) {
    m.params[6].shape = {-1};
    m.params[6].strides = {1};
    args[6] = {0x7000, {12}, {1}};
  }));
  CHECK(none([](Manifest &m, auto &args) {
    m.params[1].shape = {-1};
    m.params[1].strides = {1};
    args[1] = {0x2000, {12}, {1}};
  }));
}

TEST_CASE("arguments: empty problems and large grids") {
  Manifest m = manifest();
  m.params.resize(1);
  std::vector<ArrayArg> args = {{0, {2, 6, 0, 64}, {0, 0, 0, 1}}};
  CHECK(llvm::cantFail(packArguments("fwd", m, args)).grid == 0);
  args = {{0, {0, 6, 9, 64}, {0, 0, 0, 1}}};
  CHECK(llvm::cantFail(packArguments("fwd", m, args)).grid == 0);
  args = {{0x1000, {2970, 24, 3, 64}, {24 * 192, 64, 64 * 24, 1}}};
  CHECK(llvm::cantFail(packArguments("fwd", m, args)).grid == 71280);
  // An empty output has strides of nothing.
  CHECK(errorAfter([](Manifest &, auto &args) {
          args[0] = {0, {2, 6, 0, 64}, {0, 0, 0, 1}};
          args[5] = {0, {2, 6, 0, 64}, {0, 0, 0, 1}};
          args[6] = {0, {2, 6, 0}, {0, 0, 1}};
        }) == "");
  // Sk = 0 is launched: its rows are written as 0 and -inf.
  CHECK(errorAfter([](Manifest &, auto &args) {
          args[1] = args[2] = {0, {2, 3, 0, 64}, {0, 64, 192, 1}};
        }) == "");
}

TEST_CASE(
    "arguments: each refusal names the kernel, the array and both values") {
  auto change = [](auto edit) {
    return errorAfter(
        [&](Manifest &, std::vector<ArrayArg> &args) { edit(args); });
  };
  CHECK(change([](auto &a) { a.pop_back(); }) ==
        "kernel 'fwd' takes 7 arrays, but 6 are given; pass those of its "
        "manifest, in that order");
  CHECK(change([](auto &a) { a[0].shape.pop_back(); }) ==
        "kernel 'fwd', array 'q': it has rank 3, but the kernel takes rank 4; "
        "pass the array of the right shape");
  CHECK(change([](auto &a) { a[0].shape[3] = 32; }) ==
        "kernel 'fwd', array 'q': dimension 3 has size 32, but the kernel was "
        "compiled for 64; compile one for this size");
  CHECK(change([](auto &a) { a[0].shape[0] = int64_t(1) << 31; }) ==
        "kernel 'fwd', array 'q': dimension 0 has size 2147483648, but sizes "
        "are 0 to 2147483647; split the problem");
  CHECK(change([](auto &a) { a[1].strides[3] = 2; }) ==
        "kernel 'fwd', array 'k': dimension 3 has stride 2, but the kernel "
        "reads it with stride 1; pass a contiguous copy");
  CHECK(change([](auto &a) { a[4].strides = {6, 1}; }) ==
        "kernel 'fwd', array 'bias': dimension 0 has stride 6, but the kernel "
        "reads it with stride 5; pass a contiguous copy");
  CHECK(change([](auto &a) { a[0].strides.clear(); }) ==
        "kernel 'fwd', array 'q': it has 0 strides, but rank 4; give one a "
        "dimension");
  CHECK(change([](auto &a) { a[5].strides[0] = 0; }) ==
        "kernel 'fwd', array 'o': dimension 0 has size 2 and stride 0, but "
        "outputs may not overlap; pass an array of its own");
  CHECK(change([](auto &a) { a[2].pointer = 0; }) ==
        "kernel 'fwd', array 'v': it has 2x3x70x64 elements, but its pointer "
        "is null; allocate it");
  CHECK(change([](auto &a) { a[0].pointer = 0x1002; }) ==
        "kernel 'fwd', array 'q': its address 0x1002 is not a multiple of 16 "
        "bytes; copy it to an aligned one, or "
        "compile with a smaller --alignment");
  CHECK(change([](auto &a) { a[0].strides[2] = 388; }) ==
        "kernel 'fwd', array 'q': dimension 2 has a stride of 776 bytes, which "
        "is not a multiple of 16; copy it to an "
        "aligned one, or compile with a smaller --alignment");
  CHECK(change([](auto &a) { a[3].pointer = 0x4002; }) ==
        "kernel 'fwd', array 'kv_lengths': its address 0x4002 is not a "
        "multiple of 4 bytes; copy it to an aligned one");
  CHECK(change([](auto &a) { a[1].shape[1] = a[2].shape[1] = 4; }) ==
        "kernel 'fwd': 6 query heads cannot share 4 key heads; make the first "
        "a multiple of the second");
  CHECK(change([](auto &a) { a[2].shape[2] = 71; }) ==
        "kernel 'fwd', array 'value': its length is 71, but 70 is needed "
        "beside the other arrays; pass arrays of one problem");
  CHECK(change([](auto &a) { a[6].shape[2] = 99; }) ==
        "kernel 'fwd', array 'lse': its length is 99, but 100 is needed beside "
        "the other arrays; pass arrays of one problem");
  CHECK(change([](auto &a) { a[3].shape[0] = 1; }) ==
        "kernel 'fwd', array 'kv_lengths': its batch is 1, but 2 is needed "
        "beside the other arrays; pass arrays of one problem");
  CHECK_THAT(change([](auto &a) {
               for (int n : {0, 5, 6})
                 a[n].shape[1] = 3 << 20, a[n].shape[2] = 1 << 20;
             }),
             Catch::Contains(
                 "more than the 2147483647 blocks of a grid; split the batch"));
}

TEST_CASE("arguments: tensor maps in the manifest's order") {
  Manifest m = manifest();
  m.producerWarps = 4;
  m.tensorMaps = {{1, 64}, {0, 128}};
  PackedArguments packed = llvm::cantFail(packArguments("fwd", m, arrays()));
  CHECK(packed.threads == 256);
  REQUIRE(packed.tensorMaps.size() == 2);
  CHECK(packed.tensorMaps[0].address == 0x2000);
  CHECK(packed.tensorMaps[0].box[1] == 64);
  CHECK(packed.tensorMaps[1].address == 0x1000);
  CHECK(packed.tensorMaps[1].sizes ==
        llvm::SmallVector<uint64_t, 5>{64, 100, 1, 6, 2});
  CHECK(packed.encodedMaps.empty()); // that takes a driver
  CHECK_THAT(errorAfter([](Manifest &m, auto &args) {
               m.alignment = 8;
               m.tensorMaps = {{0, 64}};
               args[0].pointer = 0x1008;
             }),
             Catch::Contains("16 bytes that its tensor map needs"));
}

TEST_CASE("arguments: an alignment of 16 is what tensor maps need") {
  // Rows of 80 and 144 bytes are multiples of 16, so their strides are too.
  for (int64_t headDim : {40, 72}) {
    Manifest m = manifest();
    m.params.resize(1);
    m.params[0].shape[3] = headDim;
    m.tensorMaps = {{0, 64}};
    int64_t row = 6 * headDim + 8;
    std::vector<ArrayArg> args = {
        {0x1000, {2, 6, 100, headDim}, {100 * row, headDim, row, 1}}};
    CHECK(llvm::cantFail(packArguments("fwd", m, args)).tensorMaps.size() == 1);
    args[0].strides[2] += 4;
    auto packed = packArguments("fwd", m, args);
    REQUIRE(!packed);
    CHECK_THAT(llvm::toString(packed.takeError()),
               Catch::Contains("which is not a multiple of 16; copy it"));
  }
}

TEST_CASE("arguments: a smaller alignment takes what a larger refuses") {
  CHECK(errorAfter([](Manifest &m, auto &args) {
          m.alignment = 2;
          args[0].pointer = 0x1002;
          args[0].strides[2] = 385;
        }) == "");
  // Strides of dimensions of size 1 are never used.
  CHECK(errorAfter([](Manifest &m, auto &args) {
          for (int n : {0, 1, 2, 3, 5, 6})
            args[n].shape[0] = 1;
          args[0].strides[0] = 7;
        }) == "");
}
