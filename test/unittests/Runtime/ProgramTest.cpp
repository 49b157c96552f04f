// Programs: arrays by name, workspaces in one piece of memory, launches in
// order, against a driver of our own.
#include "flashc/Runtime/Program.h"
#include "FakeDriver.h"
#include "unittests/Catch.h"

using namespace flashc;
using namespace flashc::test;

namespace {
KernelParam param(const char *name, ParamKind kind, const char *element,
                  size_t rank, int64_t columns = 0) {
  KernelParam p;
  p.kind = kind;
  p.name = name;
  p.elementType = element;
  p.shape.assign(rank, KernelParam::kDynamic);
  p.strides.assign(rank, KernelParam::kDynamic);
  p.strides.back() = 1;
  if (columns)
    p.shape.back() = columns;
  return p;
}

/// Two kernels: one makes D from q and k, one dq from D.
ProgramImage program() {
  KernelParam q = param("q", ParamKind::Capture, "f16", 4, 64),
              k = param("k", ParamKind::Capture, "f16", 4, 64),
              dq = param("dq", ParamKind::Output, "f16", 4, 64),
              delta = param("delta", ParamKind::Capture, "f32", 3);
  ProgramImage out;
  ProgramKernel first{"first",       {0, 0}, {0, 1},
                      {0, 2},        64,     {"q", "k", "delta"},
                      {q, k, delta}, 4,      1024};
  ProgramKernel second{"second",        {1, 0},      {1, 1}, {1, 2}, 128,
                       {"delta", "dq"}, {delta, dq}, 8,      0};
  out.manifest.kernels = {first, second};
  out.manifest.workspaces = {
      {"delta", "f32", {"batch", "heads", "queries"}, false},
      {"sums", "f32", {"batch", "7"}, true}};
  for (const ProgramKernel &kernel : out.manifest.kernels) {
    KernelImage image{kernel.name, "sm_80", "ptx text", "", {}, ""};
    image.manifest.params = kernel.params;
    image.manifest.qBlock = kernel.rows;
    image.manifest.warps = kernel.warps;
    image.manifest.sharedBytes = kernel.sharedBytes;
    out.kernels.push_back(std::move(image));
  }
  return out;
}

llvm::StringMap<ArrayArg> arrays() {
  llvm::StringMap<ArrayArg> map;
  map["q"] = {0x10000, {2, 4, 100, 64}, {25600, 6400, 64, 1}};
  map["k"] = {0x20000, {2, 2, 200, 64}, {25600, 12800, 64, 1}};
  map["dq"] = {0x30000, {2, 4, 100, 64}, {25600, 6400, 64, 1}};
  return map;
}
} // namespace

TEST_CASE("program: kernels run in order on one workspace") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  Program loaded = llvm::cantFail(Program::load(*device, program()));
  // 2 * 4 * 100 floats, and 2 * 7, each up to a multiple of 256 bytes.
  CHECK(llvm::cantFail(loaded.workspaceBytes(arrays())) == 3328 + 256);
  PackedProgram packed = llvm::cantFail(loaded.pack(arrays(), 0x40000));
  REQUIRE(packed.zeroed.size() == 1);
  CHECK(packed.zeroed[0] ==
        std::pair<cuda::Pointer, size_t>{0x40000 + 3328, 56});
  // delta: address, three sizes, and two strides.
  CHECK(std::vector<uint64_t>(packed.kernels[1].slots.begin(),
                              packed.kernels[1].slots.begin() + 6) ==
        std::vector<uint64_t>{0x40000, 2, 4, 100, 400, 100});
  seen.calls.clear();
  llvm::cantFail(loaded.launch(packed));
  std::vector<std::string> launches;
  for (const std::string &call : seen.calls)
    if (llvm::StringRef(call).starts_with("launch"))
      launches.push_back(call);
  // A block for each batch, head and 64 (128) queries.
  CHECK(launches ==
        std::vector<std::string>{"launch 16 128 1024", "launch 8 256 0"});
}

TEST_CASE("program: a kernel that waits itself may overlap the one before") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  ProgramImage image = program();
  for (ProgramKernel &kernel : image.manifest.kernels)
    kernel.waits = true;
  auto launches = [&](const llvm::StringMap<ArrayArg> &map) {
    Program loaded = llvm::cantFail(Program::load(*device, image));
    PackedProgram packed = llvm::cantFail(loaded.pack(map, 0x40000));
    seen.calls.clear();
    llvm::cantFail(loaded.launch(packed));
    std::vector<std::string> calls;
    for (const std::string &call : seen.calls)
      if (llvm::StringRef(call).starts_with("launch") ||
          llvm::StringRef(call).starts_with("overlap"))
        calls.push_back(call);
    return calls;
  };
  // The first waits for whatever the stream had before.
  CHECK(
      launches(arrays()) ==
      std::vector<std::string>{"launch 16 128 1024", "overlap 8 256 0 1 6 1"});
  // Captured ones do not.
  seen.capturing = 1;
  CHECK(launches(arrays()) ==
        std::vector<std::string>{"launch 16 128 1024", "launch 8 256 0"});
  seen.capturing = 0;
  image.manifest.kernels[1].waits = false;
  CHECK(launches(arrays()) ==
        std::vector<std::string>{"launch 16 128 1024", "launch 8 256 0"});
}

TEST_CASE("program: arrays that are missing or of another problem") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  Program loaded = llvm::cantFail(Program::load(*device, program()));
  auto refused = [&](auto change) {
    llvm::StringMap<ArrayArg> map = arrays();
    change(map);
    return errorOf(loaded.pack(map, 0x40000));
  };
  CHECK(refused([](auto &map) { map.erase("dq"); }) ==
        "the gradients take the array 'dq', but there is none of that name; "
        "pass it");
  CHECK(refused([](auto &map) { map["q"].shape.pop_back(); }) ==
        "array 'q' has rank 3, but needs 4 (batch, head, length, head dim); "
        "reshape it");
  CHECK(refused([](auto &map) { map["k"].shape[1] = 3; }) ==
        "4 query heads cannot share 3 key heads; make the first a multiple of "
        "the second");
  CHECK(refused([](auto &map) { map["dq"].shape[2] = 99; }) ==
        "array 'dq': dimension 2 has size 99, but 100 is needed beside the "
        "other arrays; pass arrays of one problem");
  CHECK(refused([](auto &map) {
          map["dq"].strides[3] = 2;
        }).find("array 'dq': dimension 3 has stride 2") != std::string::npos);
  ProgramImage image = program();
  image.kernels.pop_back();
  CHECK(errorOf(Program::load(*device, image)) ==
        "program has 1 kernels, but its manifest 2; take both from one "
        "compilation");
}
