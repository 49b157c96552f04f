// The way of one backward through compiler and runtime on a GPU.
#include "gpu/GradientHarness.h"

#include "gpu/InParallel.h"

#include "cases/CaseModule.h"
#include "cases/CaseRunner.h"
#include "flashc/Support/Error.h"

#include <algorithm>
#include <set>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

static LoadedGradients compileAndLoad(const Device &device,
                                      const GradientCase &test,
                                      const std::string &arch) {
  CompiledGradients compiled = compileGradients(test, arch);
  LoadedGradients out{std::nullopt, compiled.error, compiled.refusedTiles};
  if (!compiled.image)
    return out;
  llvm::Expected<Program> program = Program::load(device, *compiled.image);
  if (program)
    out.program.emplace(std::move(*program));
  else
    out.error = llvm::toString(program.takeError());
  return out;
}

void GpuGradients::prepare(llvm::ArrayRef<GradientCase> tests) {
  std::vector<std::pair<std::string, const GradientCase *>> todo;
  std::set<std::string> seen;
  for (const GradientCase &test : tests) {
    std::string key = gradientKey(test);
    if (!programs.count(key) && seen.insert(key).second)
      todo.emplace_back(key, &test);
  }
  std::vector<LoadedGradients> done(todo.size());
  inParallel(device, todo.size(), [&](size_t at) {
    done[at] = compileAndLoad(device, *todo[at].second, arch);
  });
  for (size_t at = 0; at < todo.size(); ++at)
    programs[todo[at].first] = std::move(done[at]);
}

const LoadedGradients &GpuGradients::program(const GradientCase &test) {
  prepare(test);
  return programs[gradientKey(test)];
}

namespace {
constexpr size_t kGuardBytes = 256;

/// The arrays of one launch in the device's memory.
class DeviceArrays {
public:
  explicit DeviceArrays(const Device &device) : device(device) {}

  llvm::Error input(const std::string &name, const HostTensor &tensor) {
    auto at = upload(tensor.storage.data(), tensor.storage.size());
    if (!at)
      return at.takeError();
    setTensor(name, tensor, *at);
    return llvm::Error::success();
  }
  llvm::Error input(const std::string &name, const void *data, size_t bytes,
                    llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> strides = {}) {
    auto at = upload(data, bytes);
    if (!at)
      return at.takeError();
    arrays[name] = {
        *at, {shape.begin(), shape.end()}, {strides.begin(), strides.end()}};
    return llvm::Error::success();
  }
  /// An output of so many bytes, every bit of it and of its guards set.
  llvm::Expected<uint64_t> poisoned(const std::string &name, size_t bytes) {
    std::vector<char> ones(bytes + 2 * kGuardBytes, '\xff');
    auto at = upload(ones.data(), ones.size());
    if (!at)
      return at.takeError();
    outputs[name] = {*at, bytes};
    return *at + kGuardBytes;
  }
  llvm::Error output(const std::string &name, const HostTensor &like) {
    auto at = poisoned(name, like.storage.size());
    if (!at)
      return at.takeError();
    setTensor(name, like, *at);
    return llvm::Error::success();
  }
  llvm::Error readBack(const std::string &name, void *to) const {
    auto [at, bytes] = outputs.at(name);
    std::vector<char> all(bytes + 2 * kGuardBytes);
    if (llvm::Error error = device.copyFrom(all.data(), at, all.size()))
      return error;
    auto untouched = [](char c) { return c == '\xff'; };
    auto first = all.begin() + kGuardBytes, last = first + bytes;
    if (!std::all_of(all.begin(), first, untouched) ||
        !std::all_of(last, all.end(), untouched))
      return makeError("memory outside of {} was written", name);
    std::copy(first, last, static_cast<char *>(to));
    return llvm::Error::success();
  }

  llvm::StringMap<ArrayArg> arrays;

private:
  llvm::Expected<uint64_t> upload(const void *from, size_t bytes) {
    llvm::Expected<DeviceBuffer> buffer = device.upload(from, bytes);
    if (!buffer)
      return buffer.takeError();
    buffers.push_back(std::move(*buffer));
    return buffers.back().pointer();
  }
  void setTensor(const std::string &name, const HostTensor &tensor,
                 uint64_t storage) {
    ArrayArg &arg = arrays[name];
    arg.pointer =
        storage ? storage + tensor.offset * elementBytes(tensor.element) : 0;
    arg.shape.assign(tensor.shape.begin(), tensor.shape.end());
    arg.strides.assign(tensor.strides.begin(), tensor.strides.end());
  }

  const Device &device;
  std::vector<DeviceBuffer> buffers;
  std::map<std::string, std::pair<uint64_t, size_t>> outputs;
};
} // namespace

static llvm::Error addInputs(DeviceArrays &to, const GradientProblem &problem) {
  const AttentionProblem &p = problem.forward;
  int64_t rows = p.heads() * p.sq();
  llvm::SmallVector<int64_t, 4> shape{p.batch(), p.heads(), p.sq()},
      strides{rows, p.sq(), 1};
  auto addRows = [&](const std::string &name, const std::vector<float> &data) {
    return to.input(name, data.data(), data.size() * 4, shape, strides);
  };
  std::vector<std::pair<const char *, const HostTensor *>> tensors{
      {"q", &p.q},
      {"k", &p.k},
      {"v", &p.v},
      {"o", &problem.o},
      {"do", &problem.dO}};
  for (auto [name, tensor] : tensors)
    if (llvm::Error error = to.input(name, *tensor))
      return error;
  if (llvm::Error error = addRows("lse", problem.lse))
    return error;
  if (!problem.dLse.empty())
    if (llvm::Error error = addRows("dlse", problem.dLse))
      return error;
  if (!p.kvLengths.empty())
    if (llvm::Error error =
            to.input("kv_lengths", p.kvLengths.data(), p.kvLengths.size() * 4,
                     {int64_t(p.kvLengths.size())}))
      return error;
  for (size_t n = 0; n < p.captures.size(); ++n) {
    const Capture &capture = p.captures[n];
    HostTensor host = capture.tensor();
    if (llvm::Error error =
            to.input("capture" + std::to_string(n), host.storage.data(),
                     host.storage.size(), capture.shape))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Gradients> GpuGradients::run(const GradientCase &test) {
  const LoadedGradients &loaded = program(test);
  if (!loaded.program)
    return makeError("{}", loaded.error);
  const GradientProblem &problem = test.problem;
  const AttentionProblem &p = problem.forward;
  Gradients out{unwritten(p.q, p.layout),
                unwritten(p.k, p.layout),
                unwritten(p.v, p.layout),
                {}};
  DeviceArrays arrays(device);
  if (llvm::Error error = addInputs(arrays, problem))
    return std::move(error);
  std::vector<std::pair<std::string, HostTensor *>> results{
      {"dq", &out.dq}, {"dk", &out.dk}, {"dv", &out.dv}};
  for (auto [name, tensor] : results)
    if (llvm::Error error = arrays.output(name, *tensor))
      return std::move(error);
  std::vector<HostTensor> ofCaptures;
  for (int64_t number : problem.gradients) {
    ofCaptures.push_back(p.captures[number].tensor());
    int64_t count = ofCaptures.back().shape[3];
    std::string name = "dcapture" + std::to_string(number);
    auto at = arrays.poisoned(name, ofCaptures.back().storage.size());
    if (!at)
      return at.takeError();
    arrays.arrays[name] = {*at, {count}, {}};
  }
  auto bytes = loaded.program->workspaceBytes(arrays.arrays);
  if (!bytes)
    return bytes.takeError();
  std::vector<char> ones(*bytes, '\xff');
  auto workspace = device.upload(ones.data(), ones.size());
  if (!workspace)
    return workspace.takeError();
  auto packed = loaded.program->pack(arrays.arrays, workspace->pointer());
  if (!packed)
    return packed.takeError();
  if (llvm::Error error = loaded.program->launch(*packed))
    return std::move(error);
  if (llvm::Error error = device.synchronize())
    return std::move(error);
  for (auto [name, tensor] : results)
    if (llvm::Error error = arrays.readBack(name, tensor->storage.data()))
      return std::move(error);
  for (auto [number, host] : llvm::zip_equal(problem.gradients, ofCaptures)) {
    if (llvm::Error error = arrays.readBack("dcapture" + std::to_string(number),
                                            host.storage.data()))
      return std::move(error);
    out.captures.push_back(flat(host));
  }
  return out;
}

/// The case with dense arrays, for what a launch refuses.
static GradientCase denseCase(GradientCase test) {
  AttentionProblem &f = test.problem.forward;
  for (HostTensor *t : {&f.q, &f.k, &f.v, &test.problem.dO})
    *t = denseCopy(*t, f.layout);
  return test;
}

std::vector<std::string>
GpuGradients::runAll(llvm::ArrayRef<GradientCase> tests, GradientJudge &judge) {
  prepare(tests);
  std::vector<std::string> wrong;
  for (const GradientCase &test : tests) {
    llvm::Expected<Gradients> result = run(test);
    if (!result) {
      std::string why = llvm::toString(result.takeError());
      bool isCopied = llvm::StringRef(why).contains("copy");
      result = isCopied ? run(denseCase(test)) : makeError("{}", why);
    }
    std::string verdict =
        result
            ? judge.judge(test, std::move(*result), test.problem.deterministic)
            : test.name + ": " + llvm::toString(result.takeError());
    if (!verdict.empty())
      wrong.push_back(std::move(verdict));
  }
  return wrong;
}
