// Case 14: views whose byte offsets pass 2^31 and 2^32, with strides.
#include "unittests/Catch.h"

#include "gpu/GpuHarness.h"

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
/// A view with huge strides on the device, moved row by row: most of its memory
/// is never touched.
struct SparseArray {
  ArrayArg arg;
  DeviceBuffer buffer;

  static llvm::Expected<SparseArray> make(const Device &device,
                                          const HostTensor &host,
                                          std::array<int64_t, 4> strides) {
    int64_t bytes = elementBytes(host.element), last = 0;
    for (size_t n = 0; n < 4; ++n)
      last += (host.shape[n] - 1) * strides[n];
    llvm::Expected<DeviceBuffer> buffer = device.alloc((last + 1) * bytes);
    if (!buffer)
      return buffer.takeError();
    SparseArray out;
    out.buffer = std::move(*buffer);
    out.arg.pointer = out.buffer.pointer();
    out.arg.shape.assign(host.shape.begin(), host.shape.end());
    out.arg.strides.assign(strides.begin(), strides.end());
    return out;
  }

  /// `move(device address, host address, bytes)` for each row.
  template <typename F> void eachRow(HostTensor &host, F move) {
    int64_t bytes = elementBytes(host.element);
    for (int64_t b = 0; b < host.shape[0]; ++b)
      for (int64_t h = 0; h < host.shape[1]; ++h)
        for (int64_t s = 0; s < host.shape[2]; ++s)
          move(arg.pointer + (b * arg.strides[0] + h * arg.strides[1] +
                              s * arg.strides[2]) *
                                 bytes,
               host.storage.data() + host.index(b, h, s, 0) * bytes,
               host.shape[3] * bytes);
  }
};

constexpr int64_t kTwoGiB = int64_t(1)
                            << 30; // elements of two bytes: 2^31 bytes

/// B 2, H 2, S 130, D 64, dense on the host.
TestCase problem() {
  TestCase test;
  AttentionProblem &p = test.problem;
  test.name = "case 14: large strides";
  p.layout = Layout::BHSD;
  p.scale = 0.125;
  p.mask = MaskExpr::causal();
  Random random(14);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::dense(Element::F16, {2, 2, 130, 64}, p.layout);
    fillNormal(*t, random);
  }
  return test;
}
} // namespace

TEST_CASE("GPU case 14: byte offsets past 2^31 and 2^32 in every array",
          "[large]") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  const Device &device = gpu->device();
  size_t room = 0, total = 0;
  device.driver().memGetInfo(&room, &total);
  if (room < size_t(40) << 30)
    FLASHC_SKIP("less than 40 GiB of GPU memory are free");
  TestCase test = problem();
  const LoadedKernel &loaded = gpu->kernel(test, "sm_80");
  REQUIRE(loaded.error == "");
  Output out = makeOutput(test);
  // The batch, the head, or the row is what reaches past: each by more than
  // 2^32.
  std::array<int64_t, 4> byBatch{2 * kTwoGiB + 64, 130 * 64, 64, 1};
  std::array<int64_t, 4> byHead{130 * 64, 2 * kTwoGiB + 64, 64, 1};
  std::array<int64_t, 4> byRow{130 * 64, 64, kTwoGiB / 32 + 64, 1};
  HostTensor *host[] = {&test.problem.q, &test.problem.k, &test.problem.v,
                        &out.o};
  std::array<int64_t, 4> strides[] = {byBatch, byRow, byHead, byRow};
  std::vector<SparseArray> arrays;
  for (size_t n = 0; n < 4; ++n) {
    arrays.push_back(
        llvm::cantFail(SparseArray::make(device, *host[n], strides[n])));
    arrays[n].eachRow(*host[n], [&](uint64_t at, char *from, size_t bytes) {
      llvm::cantFail(device.copyTo(at, from, bytes));
    });
  }
  DeviceBuffer lse =
      llvm::cantFail(device.upload(out.lse.data(), out.lse.size() * 4));
  std::vector<ArrayArg> args;
  for (SparseArray &array : arrays)
    args.push_back(array.arg);
  args.push_back({lse.pointer(), {2, 2, 130}, {260, 130, 1}});
  llvm::cantFail(loaded.module->launch(args));
  llvm::cantFail(device.synchronize());
  arrays[3].eachRow(out.o, [&](uint64_t at, char *to, size_t bytes) {
    llvm::cantFail(device.copyFrom(to, at, bytes));
  });
  llvm::cantFail(
      device.copyFrom(out.lse.data(), lse.pointer(), out.lse.size() * 4));
  Judge judge;
  CHECK(judge.judge(test, out) == "");
}

TEST_CASE("GPU case 14: dense K and V of more than 2^32 bytes", "[large]") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  const Device &device = gpu->device();
  size_t room = 0, total = 0;
  device.driver().memGetInfo(&room, &total);
  if (room < size_t(16) << 30)
    FLASHC_SKIP("less than 16 GiB of GPU memory are free");
  // A window at the end of one long head: few blocks are read, so that
  // racecheck gets through. The keys before it are NaN.
  TestCase test = problem();
  test.name = "case 14: a window at the end of many keys";
  AttentionProblem &p = test.problem;
  p.mask = MaskExpr::window(64, 0);
  Random random(15);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::dense(Element::F16, {1, 1, t == &p.q ? 64 : 130, 64},
                           p.layout);
    fillNormal(*t, random);
  }
  const LoadedKernel &loaded = gpu->kernel(test, "sm_80");
  REQUIRE(loaded.error == "");
  constexpr int64_t keys = (1 << 25) + 4321, row = 64 * 2;
  static_assert((keys - 130) * row > int64_t(1) << 32);
  std::vector<ArrayArg> args;
  std::vector<DeviceBuffer> buffers;
  Output out = makeOutput(test);
  for (HostTensor *t : {&p.q, &p.k, &p.v, &out.o}) {
    int64_t rows = t == &p.k || t == &p.v ? keys : 64, used = t->shape[2];
    buffers.push_back(llvm::cantFail(device.alloc(rows * row)));
    uint64_t at = buffers.back().pointer();
    llvm::cantFail(device.fill(at, 0xff, rows * row));
    llvm::cantFail(
        device.copyTo(at + (rows - used) * row, t->storage.data(), used * row));
    args.push_back({at, {1, 1, rows, 64}, {rows * 64, rows * 64, 64, 1}});
  }
  DeviceBuffer lse =
      llvm::cantFail(device.upload(out.lse.data(), out.lse.size() * 4));
  args.push_back({lse.pointer(), {1, 1, 64}, {64, 64, 1}});
  llvm::cantFail(loaded.module->launch(args));
  llvm::cantFail(device.synchronize());
  llvm::cantFail(
      device.copyFrom(out.o.storage.data(), args[3].pointer, 64 * row));
  llvm::cantFail(
      device.copyFrom(out.lse.data(), lse.pointer(), out.lse.size() * 4));
  Judge judge;
  CHECK(judge.judge(test, out) == "");
}
