// Tensor maps, tile counters and their place among the parameters, against the
// real driver and a kernel written by hand that copies one box.
#include "unittests/Catch.h"

#include "flashc/Runtime/Module.h"

#include <fmt/format.h>

using namespace flashc;

namespace {
constexpr int64_t kRows = 64;
constexpr int64_t kBoxColumns = 64;
constexpr int64_t kSlabWords = kRows * kBoxColumns;

/// Thread 0 of block 0 starts the copy of the box at coordinates `at`, which
/// the block then stores at `out` as it lies in shared memory (with the
/// swizzle); the word behind it becomes what the counter held.
constexpr const char *kCopyBox = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy_box(
  .param .u64 q, .param .u32 q0, .param .u32 q1, .param .u32 q2,
  .param .u64 q3, .param .u64 q4, .param .u64 q5,
  .param .u64 k, .param .u32 k0, .param .u32 k1, .param .u32 k2,
  .param .u64 k3, .param .u64 k4, .param .u64 k5,
  .param .u64 at, .param .u64 out, .param .u32 words,
  .param .align 64 .b8 map[128], .param .u64 counter)
{
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %d<6>;
  .shared .align 1024 .b8 box[32768];
  .shared .align 8 .b64 arrived;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  setp.ne.u32 %p, %r1, 0;
  @%p exit;
  ld.param.u64 %d0, [at];
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [counter];
  mov.b64 %d3, map;
  cvta.param.u64 %d3, %d3;
  mov.u32 %r1, box;
  mov.u32 %r2, arrived;
  setp.ne.u32 %p, %r0, 0;
  @%p bra WAIT;
  ld.global.u32 %r3, [%d0];
  ld.global.u32 %r4, [%d0+4];
  ld.global.u32 %r5, [%d0+8];
  ld.global.u32 %r6, [%d0+12];
  ld.global.u32 %r7, [%d0+16];
  mbarrier.init.shared.b64 [%r2], 1;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 %d4, [%r2], BYTES;
  cp.async.bulk.tensor.RANKd.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [%r1], [%d3, {COORDINATES}], [%r2];
  atom.global.add.u32 %r8, [%d2], 1;
  st.global.u32 [%d1+BYTES], %r8;
  st.global.u32 [%d2], 0;
WAIT:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p, [%r2], 0;
  @!%p bra AGAIN;
  shl.b32 %r9, %r0, 2;
STORE:
  add.u32 %r10, %r1, %r9;
  ld.shared.u32 %r11, [%r10];
  cvt.u64.u32 %d4, %r9;
  add.u64 %d4, %d1, %d4;
  st.global.u32 [%d4], %r11;
  add.u32 %r9, %r9, 512;
  setp.lt.u32 %p, %r9, BYTES;
  @%p bra STORE;
  exit;
}
)";

void replace(std::string &text, llvm::StringRef what, const std::string &with) {
  for (size_t at; (at = text.find(what.str())) != std::string::npos;)
    text.replace(at, what.size(), with);
}

int64_t slabsOf(int64_t headDim) {
  return headDim % kBoxColumns ? 1 : headDim / kBoxColumns;
}

KernelImage copyBox(int64_t headDim) {
  KernelImage image{"copy_box", "sm_90a", kCopyBox, "", {}, ""};
  bool slabs = headDim % kBoxColumns == 0;
  replace(image.ptx, "BYTES",
          std::to_string(2 * kSlabWords * slabsOf(headDim)));
  replace(image.ptx, "RANK", slabs ? "5" : "4");
  replace(image.ptx, "COORDINATES",
          slabs ? "%r3, %r4, %r5, %r6, %r7" : "%r3, %r4, %r6, %r7");
  llvm::SmallVector<int64_t, 4> shape{-1, -1, -1, headDim}, at{5}, out{-1};
  llvm::SmallVector<int64_t, 4> strides{-1, -1, -1, 1};
  image.manifest.params = {{ParamKind::Query, "q", "f16", shape, strides},
                           {ParamKind::Key, "k", "bf16", shape, strides},
                           {ParamKind::Capture, "at", "i32", at, {}},
                           {ParamKind::Capture, "out", "f16", out, {}}};
  image.manifest.tensorMaps = {{1, kRows}};
  image.manifest.persistent = true;
  image.manifest.qBlock = 1;
  image.manifest.warps = 1;
  image.manifest.producerWarps = 3;
  return image;
}

/// Keys whose bits tell their place.
struct Keys {
  llvm::SmallVector<int64_t, 4> shape, strides;
  std::vector<uint16_t> host;

  uint16_t at(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    if (row >= shape[2] || column >= shape[3])
      return 0;
    return host[batch * strides[0] + head * strides[1] + row * strides[2] +
                column];
  }
};

struct Box {
  std::vector<uint16_t> words;
  uint32_t counter = 0;
};

/// The box from `row` on of the last head of the last batch.
Box run(const Device &device, const Module &module, const Keys &keys,
        int64_t row) {
  int64_t batch = keys.shape[0], heads = keys.shape[1], d = keys.shape[3];
  size_t words = kSlabWords * slabsOf(d);
  int32_t at[] = {0, int32_t(row), 0, int32_t(heads - 1), int32_t(batch - 1)};
  DeviceBuffer q = llvm::cantFail(device.alloc(batch * heads * 2 * d * 2));
  DeviceBuffer k =
      llvm::cantFail(device.upload(keys.host.data(), keys.host.size() * 2));
  DeviceBuffer where = llvm::cantFail(device.upload(at, sizeof at));
  DeviceBuffer out = llvm::cantFail(device.alloc(words * 2 + 4));
  llvm::cantFail(device.fill(out.pointer(), 0xff, words * 2 + 4));
  llvm::cantFail(module.launch(
      {{q.pointer(), {batch, heads, 2, d}, {heads * 2 * d, 2 * d, d, 1}},
       {k.pointer(), keys.shape, keys.strides},
       {where.pointer(), {5}, {}},
       {out.pointer(), {int64_t(words) + 2}, {}}}));
  llvm::cantFail(device.synchronize());
  Box box;
  box.words.resize(words);
  llvm::cantFail(device.copyFrom(box.words.data(), out.pointer(), words * 2));
  llvm::cantFail(
      device.copyFrom(&box.counter, out.pointer() + words * 2, sizeof(int)));
  return box;
}

/// "" or the first word that is wrong.
std::string compare(const Box &box, const Keys &keys, int64_t firstRow) {
  for (size_t n = 0; n < box.words.size(); ++n) {
    int64_t slab = n / kSlabWords, row = n % kSlabWords / kBoxColumns;
    int64_t piece = n % kBoxColumns / 8 ^ row % 8; // the 128-byte swizzle
    int64_t column = slab * kBoxColumns + piece * 8 + n % 8;
    uint16_t want = keys.host.empty()
                        ? 0
                        : keys.at(keys.shape[0] - 1, keys.shape[1] - 1,
                                  firstRow + row, column);
    if (box.words[n] != want)
      return fmt::format("slab {}, row {}, column {}: {:#x}, not {:#x}", slab,
                         row, column, box.words[n], want);
  }
  return "";
}

Keys keysOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  Keys keys{llvm::SmallVector<int64_t, 4>(shape),
            llvm::SmallVector<int64_t, 4>(strides),
            {}};
  int64_t size = 1;
  for (auto [n, stride] : llvm::zip(shape, strides))
    size = n == 0 || size == 0 ? 0 : size + (n - 1) * stride;
  for (int64_t n = 0; n < size; ++n)
    keys.host.push_back(static_cast<uint16_t>(n * 40503 >> 3) | 1);
  return keys;
}
} // namespace

TEST_CASE("GPU tensor maps: boxes of arrays of every kind", "[tensor maps]") {
  auto opened = Device::open();
  if (!opened) {
    llvm::consumeError(opened.takeError());
    FLASHC_SKIP("no GPU");
  }
  const Device &device = **opened;
  if (device.sm() != 90)
    FLASHC_SKIP("no GPU of sm_90");
  struct {
    const char *what;
    Keys keys;
  } tests[] = {
      {"bshd", keysOf({2, 3, 100, 128}, {100 * 384, 128, 384, 1})},
      {"bhsd", keysOf({2, 3, 100, 64}, {300 * 64, 6400, 64, 1})},
      {"wide", keysOf({2, 1, 100, 256}, {25600, 7, 256, 1})},
      {"narrow", keysOf({2, 3, 100, 40}, {100 * 120, 40, 120, 1})},
      {"narrowest", keysOf({1, 3, 70, 8}, {5, 8, 24, 1})},
      {"shared by heads and batches", keysOf({2, 3, 100, 64}, {0, 0, 64, 1})},
      {"one row again and again", keysOf({2, 3, 100, 128}, {128, 256, 0, 1})},
      {"overlapping rows", keysOf({2, 3, 100, 64}, {8, 800, 8, 1})},
      {"one row", keysOf({1, 1, 1, 128}, {3, 5, 9, 1})},
      {"no rows", keysOf({2, 3, 0, 128}, {0, 128, 384, 1})},
      {"no narrow rows", keysOf({2, 3, 0, 40}, {0, 128, 384, 1})}};
  for (const auto &test : tests) {
    INFO(test.what);
    Module module =
        llvm::cantFail(Module::load(device, copyBox(test.keys.shape[3])));
    // Two boxes, the second past the end, then the first counters once more.
    for (int64_t row : {0, 64, 0, 7}) {
      Box box = run(device, module, test.keys, row);
      CHECK(box.counter == 0);
      CHECK(compare(box, test.keys, row) == "");
    }
  }
}
