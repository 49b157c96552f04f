#include "JitHarness.h"

#include "common/Environment.h"
#include "flashc/Support/Float16.h"

#include <dlfcn.h>

using namespace flashc;
using namespace flashc::test;

GraphDriver GraphDriver::load() {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  GraphDriver out;
  auto find = [&](auto &function, const char *name) {
    function =
        reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(cuda, name));
  };
  find(out.beginCapture, "cuStreamBeginCapture_v2");
  find(out.endCapture, "cuStreamEndCapture");
  find(out.instantiate, "cuGraphInstantiateWithFlags");
  find(out.launch, "cuGraphLaunch");
  find(out.destroyGraph, "cuGraphDestroy");
  find(out.destroyExecutable, "cuGraphExecDestroy");
  find(out.createContext, "cuCtxCreate_v2");
  find(out.destroyContext, "cuCtxDestroy_v2");
  return out;
}

std::unique_ptr<Device> test::openDevice() {
  auto device = Device::open();
  if (device)
    return std::move(*device);
  llvm::consumeError(device.takeError());
  return nullptr;
}

std::shared_ptr<jit::Context> test::jitContext(const std::string &cacheFolder,
                                               AssemblerKind assembler,
                                               const std::string &target) {
  jit::ContextOptions options;
  options.target = target;
  options.cache.folder = cacheFolder;
  options.assembler = {assembler, tools::findPtxCompiler(), tools::findPtxas()};
  auto context = jit::Context::create(options);
  if (context)
    return *context;
  llvm::consumeError(context.takeError());
  return nullptr;
}

jit::KernelSpec test::decodeSpec(const std::string &mask) {
  jit::KernelSpec spec;
  spec.attention.headDim = 64;
  spec.attention.mask = mask;
  spec.attention.kvLengths = true;
  spec.attention.withLse = false;
  return spec;
}

/// f16 from -1 to 1.
static DeviceBuffer uploadNumbers(const Device &device, int64_t count,
                                  uint64_t seed) {
  std::vector<uint16_t> host(count);
  for (uint16_t &x : host) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = floatToHalf(float(double(seed >> 33) / double(1u << 30) - 1));
  }
  return llvm::cantFail(device.upload(host.data(), host.size() * 2));
}

SmallProblem::SmallProblem(const Device &device, int64_t heads, int64_t queries,
                           int64_t keys, int64_t dim)
    : device(device), heads(heads), queries(queries), keys(keys), dim(dim) {
  q = uploadNumbers(device, heads * queries * dim, 1);
  k = uploadNumbers(device, heads * keys * dim, 2);
  v = uploadNumbers(device, heads * keys * dim, 3);
  o = llvm::cantFail(device.alloc(heads * queries * dim * 2));
  lengths = llvm::cantFail(device.alloc(4));
  setKeys(int32_t(keys));
}

std::vector<ArrayArg> SmallProblem::args() const {
  auto array = [&](const DeviceBuffer &buffer, int64_t length) {
    return ArrayArg{buffer.pointer(),
                    {1, heads, length, dim},
                    {heads * length * dim, length * dim, dim, 1}};
  };
  return {array(q, queries),
          array(k, keys),
          array(v, keys),
          {lengths.pointer(), {1}, {1}},
          array(o, queries)};
}

void SmallProblem::setKeys(int32_t count) const {
  llvm::cantFail(device.copyTo(lengths.pointer(), &count, 4));
}

void SmallProblem::clearOutput() const {
  llvm::cantFail(device.fill(o.pointer(), 0xff, o.size()));
}

std::vector<uint16_t> SmallProblem::output() const {
  llvm::cantFail(device.synchronize());
  std::vector<uint16_t> host(o.size() / 2);
  llvm::cantFail(device.copyFrom(host.data(), o.pointer(), o.size()));
  return host;
}
