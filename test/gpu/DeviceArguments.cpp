// A case's arrays on the device: inputs copied in, outputs poisoned and
// guarded.
#include "gpu/GpuHarness.h"

#include "flashc/Support/Error.h"

#include <algorithm>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

static ArrayArg argOf(const HostTensor &tensor, uint64_t storage) {
  ArrayArg arg;
  arg.pointer =
      storage ? storage + tensor.offset * elementBytes(tensor.element) : 0;
  arg.shape.assign(tensor.shape.begin(), tensor.shape.end());
  arg.strides.assign(tensor.strides.begin(), tensor.strides.end());
  return arg;
}

namespace {
/// Fills a DeviceArguments, one parameter after another.
struct Builder {
  const Device &device;
  const TestCase &test;
  DeviceArguments &out;
  size_t captures = 0;

  llvm::Expected<uint64_t> upload(const void *from, size_t bytes) {
    llvm::Expected<DeviceBuffer> buffer = device.upload(from, bytes);
    if (!buffer)
      return buffer.takeError();
    out.buffers.push_back(std::move(*buffer));
    return out.buffers.back().pointer();
  }

  /// An output of so many bytes, every bit of it and of its guards set.
  llvm::Expected<uint64_t> poisoned(size_t bytes, int &at) {
    size_t guard = DeviceArguments::kGuardBytes;
    at = static_cast<int>(out.buffers.size());
    std::vector<char> ones(bytes + 2 * guard, '\xff');
    llvm::Expected<uint64_t> pointer = upload(ones.data(), ones.size());
    if (!pointer)
      return pointer;
    return *pointer + guard;
  }

  llvm::Expected<ArrayArg> tensor(const HostTensor &t) {
    llvm::Expected<uint64_t> at = upload(t.storage.data(), t.storage.size());
    if (!at)
      return at.takeError();
    return argOf(t, *at);
  }

  llvm::Expected<ArrayArg> argument(const KernelParam &param);
};

llvm::Expected<ArrayArg> Builder::argument(const KernelParam &param) {
  const AttentionProblem &p = test.problem;
  switch (param.kind) {
  case ParamKind::Query:
    return tensor(p.q);
  case ParamKind::Key:
    return tensor(p.k);
  case ParamKind::Value:
    return tensor(p.v);
  case ParamKind::KvLengths: {
    auto at = upload(p.kvLengths.data(), p.kvLengths.size() * 4);
    if (!at)
      return at.takeError();
    return ArrayArg{*at, {int64_t(p.kvLengths.size())}, {}};
  }
  case ParamKind::Capture: {
    const Capture &capture = p.captures[captures++];
    HostTensor host = capture.tensor();
    auto at = upload(host.storage.data(), host.storage.size());
    if (!at)
      return at.takeError();
    ArrayArg arg{*at, {}, {}};
    arg.shape.assign(capture.shape.begin(), capture.shape.end());
    return arg;
  }
  case ParamKind::Output: {
    Output host = makeOutput(test);
    auto at = poisoned(host.o.storage.size(), out.output);
    if (!at)
      return at.takeError();
    return argOf(host.o, *at);
  }
  case ParamKind::Lse: {
    auto at = poisoned(p.batch() * p.heads() * p.sq() * 4, out.lse);
    if (!at)
      return at.takeError();
    return ArrayArg{
        *at, {p.batch(), p.heads(), p.sq()}, {p.heads() * p.sq(), p.sq(), 1}};
  }
  }
  return makeError("a kind of parameter that the tests do not know");
}
} // namespace

llvm::Expected<DeviceArguments> DeviceArguments::make(const Device &device,
                                                      const Manifest &manifest,
                                                      const TestCase &test) {
  DeviceArguments out;
  Builder builder{device, test, out};
  for (const KernelParam &param : manifest.params) {
    llvm::Expected<ArrayArg> arg = builder.argument(param);
    if (!arg)
      return arg.takeError();
    out.args.push_back(std::move(*arg));
  }
  return out;
}

llvm::Error DeviceArguments::readBack(const Device &device, Output &out) const {
  auto read = [&](int at, void *to, size_t bytes) -> llvm::Error {
    std::vector<char> all(buffers[at].size());
    if (llvm::Error error =
            device.copyFrom(all.data(), buffers[at].pointer(), all.size()))
      return error;
    auto untouched = [](char c) { return c == '\xff'; };
    auto first = all.begin() + kGuardBytes, last = first + bytes;
    if (!std::all_of(all.begin(), first, untouched) ||
        !std::all_of(last, all.end(), untouched))
      return makeError("memory outside an output was written");
    std::copy(first, last, static_cast<char *>(to));
    return llvm::Error::success();
  };
  if (llvm::Error error =
          read(output, out.o.storage.data(), out.o.storage.size()))
    return error;
  return lse < 0 ? llvm::Error::success()
                 : read(lse, out.lse.data(), out.lse.size() * 4);
}
