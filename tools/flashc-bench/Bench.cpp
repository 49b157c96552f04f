//===- Bench.cpp - Compile, launch, time ----------------------------------===//
//
// In: a cell and candidates. Out: a CSV line for each, by the rules of
// benchmarks/peers.py: best of 3 rounds of 12 launches after 3 to warm up.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Reference/Cases.h"
#include "flashc/Reference/Check.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>
#include <iostream>

using namespace flashc;

static constexpr int kWarm = 3, kRounds = 3, kReps = 12;

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

llvm::Expected<KernelImage> Bench::compile(const Cell &cell,
                                           const Tiles &candidate) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  AttentionSpec spec;
  spec.headDim = cell.dim;
  spec.dtype = cell.dtype == "bf16" ? "bf16" : "f16";
  spec.mask = cell.causal ? "causal" : "none";
  auto module = buildAttnModule(spec, *context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = arch;
  options.tiles = candidate.tiles;
  options.stages = candidate.stages;
  options.warps = candidate.warps;
  options.length = cell.length;
  return compileToGPU(**module, options);
}

llvm::Expected<const Module *>
Bench::load(const std::string &key, const Cell &cell, const Tiles &candidate) {
  llvm::Expected<KernelImage> image = compile(cell, candidate);
  if (!image)
    return image.takeError();
  // Lengths whose schedules are equal have one kernel.
  auto found = modules.find(image->ptx);
  if (found != modules.end())
    return &found->second;
  llvm::Expected<Module> made = Module::load(device, *image);
  if (!made)
    return made.takeError();
  const Module &m = modules.emplace(image->ptx, std::move(*made)).first->second;
  llvm::errs() << fmt::format(
      "# {}: q {} kv {} stages {} warps {}, {} shared bytes, {} registers, "
      "{} spilled bytes\n",
      key, m.manifest().qBlock, m.manifest().kvBlock, m.manifest().stages,
      m.manifest().warps, m.manifest().sharedBytes, m.registers(),
      m.localBytes());
  return &m;
}

void Bench::fill(reference::HostTensor &tensor, size_t start) {
  constexpr size_t kPeriod = 1048573;
  auto line = reference::HostTensor::dense(
      tensor.element, {1, 1, int64_t(kPeriod), 1}, reference::Layout::BSHD);
  reference::Random random(start);
  reference::fillNormal(line, random);
  auto *from = reinterpret_cast<const uint16_t *>(line.storage.data());
  auto *to = reinterpret_cast<uint16_t *>(tensor.storage.data());
  for (size_t n = 0, end = tensor.storage.size() / 2; n < end; ++n)
    to[n] = from[n % kPeriod];
}

llvm::Error Bench::upload(reference::Element element, int64_t count,
                          Arrays &arrays) {
  using namespace reference;
  HostTensor o, *tensors[] = {&arrays.problem.q, &arrays.problem.k,
                              &arrays.problem.v, &o};
  for (size_t n = 0; n < 4; ++n) {
    *tensors[n] = HostTensor::dense(element, {1, 1, count, 1}, Layout::BSHD);
    if (n < 3)
      fill(*tensors[n], n + 1);
    llvm::Expected<DeviceBuffer> buffer =
        device.upload(tensors[n]->storage.data(), tensors[n]->storage.size());
    if (!buffer)
      return buffer.takeError();
    arrays.buffers[n] = std::move(*buffer);
  }
  llvm::Expected<DeviceBuffer> lse = device.alloc(count * 4);
  if (!lse)
    return lse.takeError();
  arrays.lse = std::move(*lse);
  return llvm::Error::success();
}

llvm::Expected<Arrays *> Bench::prepare(const Cell &cell) {
  using namespace reference;
  std::array<int64_t, 4> shape{cell.batch(), cell.heads(), cell.length,
                               cell.dim};
  auto [b, h, s, d] = shape;
  auto [found, isNew] = allArrays.try_emplace({cell.dtype, b * h * s * d});
  Arrays &arrays = found->second;
  if (isNew)
    if (llvm::Error error =
            upload(cell.dtype == "bf16" ? Element::BF16 : Element::F16,
                   b * h * s * d, arrays))
      return std::move(error);
  AttentionProblem &p = arrays.problem;
  p.scale = 1 / std::sqrt(double(d));
  p.mask = cell.causal ? MaskExpr::causal() : MaskExpr::none();
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    t->shape = shape;
    t->strides = {s * h * d, d, h * d, 1};
  }
  arrays.args.clear();
  for (const DeviceBuffer &buffer : arrays.buffers)
    arrays.args.push_back(
        {buffer.pointer(), {b, h, s, d}, {s * h * d, d, h * d, 1}});
  arrays.args.push_back({arrays.lse.pointer(), {b, h, s}, {h * s, s, 1}});
  return &arrays;
}

llvm::Expected<double> Bench::time(const Module &module,
                                   llvm::ArrayRef<ArrayArg> args) {
  llvm::Expected<PackedArguments> packed = module.pack(args);
  if (!packed)
    return packed.takeError();
  auto launches = [&](int count) {
    return [&, count]() -> llvm::Error {
      for (int n = 0; n < count; ++n)
        if (llvm::Error error = module.launch(*packed))
          return error;
      return llvm::Error::success();
    };
  };
  if (llvm::Error error = launches(kWarm)())
    return std::move(error);
  if (llvm::Error error = device.synchronize())
    return std::move(error);
  double best = INFINITY;
  for (int round = 0; round < kRounds; ++round) {
    llvm::Expected<float> ms = device.time(launches(kReps));
    if (!ms)
      return ms.takeError();
    best = std::min<double>(best, *ms / kReps);
  }
  return best;
}

llvm::Error Bench::checkResult(const Arrays &arrays, const std::string &what) {
  const reference::AttentionProblem &p = arrays.problem;
  reference::HostTensor o = p.q;
  std::vector<float> lse(p.batch() * p.heads() * p.sq());
  if (llvm::Error error = device.copyFrom(
          o.storage.data(), arrays.buffers[3].pointer(), o.storage.size()))
    return error;
  if (llvm::Error error =
          device.copyFrom(lse.data(), arrays.lse.pointer(), lse.size() * 4))
    return error;
  reference::ErrorReport report =
      reference::checkError(p, o, lse.data(), int64_t(1) << 27);
  if (!report.ok)
    return makeError("{}: wrong result: {}", what, report.why);
  llvm::errs() << "# " << what << ": " << report.summary() << "\n";
  return llvm::Error::success();
}

const Module *Bench::find(const std::string &key, const Cell &cell,
                          const Tiles &candidate) {
  auto [known, isNew] = kernels.try_emplace(key, nullptr);
  if (!isNew)
    return known->second;
  llvm::Expected<const Module *> made = load(key, cell, candidate);
  if (made)
    return known->second = *made;
  llvm::errs() << "# " << key << ": " << llvm::toString(made.takeError())
               << "\n";
  return nullptr;
}

llvm::Error Bench::runOne(const Cell &cell, const Tiles &candidate,
                          const std::string &impl, const Arrays &arrays) {
  std::string key = fmt::format("{} {} {} {} {}", impl, cell.dtype, cell.dim,
                                cell.causal, cell.length);
  double start = now(), first = NAN, ms = NAN;
  if (const Module *module = find(key, cell, candidate)) {
    if (llvm::Error error = module->launch(arrays.args))
      return error;
    if (llvm::Error error = device.synchronize())
      return error;
    first = now() - start;
    llvm::Expected<double> timed = time(*module, arrays.args);
    if (!timed)
      return timed.takeError();
    ms = *timed;
    if (check)
      if (llvm::Error error = checkResult(arrays, key))
        return error;
  }
  std::cout << fmt::format("{},{},fwd,{},{},{},{},{},{:.4f},{:.1f},{:.2f}\n",
                           impl, cell.dtype, cell.dim, cell.length,
                           cell.batch(), cell.heads(), int(cell.causal), ms,
                           cell.flops() / ms / 1e9, first)
            << std::flush;
  return llvm::Error::success();
}

llvm::Error Bench::run(const Cell &cell, const std::vector<Tiles> &candidates) {
  llvm::Expected<Arrays *> arrays = prepare(cell);
  if (!arrays)
    return arrays.takeError();
  for (const Tiles &candidate : candidates) {
    std::string impl = "flashc";
    if (candidates.size() > 1 || candidate.text != "auto")
      impl += ":" + candidate.text;
    if (llvm::Error error = runOne(cell, candidate, impl, **arrays))
      return error;
  }
  return llvm::Error::success();
}
