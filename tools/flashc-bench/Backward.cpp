//===- Backward.cpp - Compile, launch and time gradients ------------------===//
//
// In: a cell and candidates. Out: a CSV line for each, as the forward's but for
// "bwd": best of 3 rounds of 12 launches after 3 to warm up.
//
//===----------------------------------------------------------------------===//
#include "Backward.h"
#include "Description.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Reference/Cases.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <iostream>

using namespace flashc;

/// The papers' count: five products for two.
static constexpr double kFlops = 2.5;

void BackwardBench::note(const std::string &text) {
  if (bar)
    return bar->note("# " + text);
  llvm::errs() << "# " << text << "\n";
}

llvm::Error BackwardBench::grow(DeviceBuffer &buffer, size_t bytes,
                                bool withNumbers) {
  if (buffer.size() >= bytes)
    return llvm::Error::success();
  buffer = DeviceBuffer(); // first, since both may not fit
  llvm::Expected<DeviceBuffer> made = device.alloc(bytes);
  if (!made)
    return made.takeError();
  buffer = std::move(*made);
  if (!withNumbers)
    return llvm::Error::success();
  // Small numbers of either 16-bit type, of a period that is prime.
  std::vector<uint16_t> numbers(1048573);
  uint32_t state = 1;
  for (uint16_t &number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = uint16_t((state >> 16 & 0x83ff) | 0x3800);
  }
  for (size_t at = 0; at < bytes; at += 2 * numbers.size())
    if (llvm::Error error =
            device.copyTo(buffer.pointer() + at, numbers.data(),
                          std::min(2 * numbers.size(), bytes - at)))
      return error;
  return llvm::Error::success();
}

llvm::Error BackwardBench::addGradients(const Cell &cell) {
  int64_t tokens = cell.batch() * cell.length;
  int64_t dq = tokens * cell.heads * cell.dim,
          dk = tokens * cell.kvHeads * cell.dim,
          dv = tokens * cell.kvHeads * cell.valueDim;
  if (llvm::Error error =
          grow(outputGradient, 2 * tokens * cell.heads * cell.valueDim, true))
    return error;
  if (llvm::Error error = grow(gradients, 2 * (dq + dk + dv), false))
    return error;
  arrays["do"] = arrays["o"];
  arrays["do"].pointer = outputGradient.pointer();
  uint64_t at = gradients.pointer();
  for (auto [name, like, elements] :
       {std::tuple{"dq", "q", dq}, std::tuple{"dk", "k", dk},
        std::tuple{"dv", "v", dv}}) {
    arrays[name] = arrays[like];
    arrays[name].pointer = at;
    at += 2 * elements;
  }
  return llvm::Error::success();
}

/// Arrays of the cell by name, with O and LSE as a forward makes them.
llvm::Expected<Arrays *> BackwardBench::prepare(const Cell &cell) {
  auto element =
      cell.dtype == "bf16" ? reference::Element::BF16 : reference::Element::F16;
  Arrays &inputs =
      allArrays.try_emplace(cell.dtype, device, element, 1.0).first->second;
  if (llvm::Error error = inputs.reserve(cell))
    return std::move(error);
  std::vector<ArrayArg> args = inputs.arguments(cell);
  arrays.clear();
  arrays["q"] = args[0];
  arrays["k"] = args[1];
  arrays["v"] = args[2];
  if (args.size() == 6)
    arrays["capture0"] = args[3];
  arrays["o"] = args[args.size() - 2];
  arrays["lse"] = args.back();
  if (llvm::Error error = addGradients(cell))
    return std::move(error);
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(cell, *context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = arch;
  options.length = cell.length;
  llvm::Expected<KernelImage> image = compileToGPU(**module, options);
  if (!image)
    return image.takeError();
  llvm::Expected<Module> forward = Module::load(device, *image);
  if (!forward)
    return forward.takeError();
  if (llvm::Error error = forward->launch(args))
    return std::move(error);
  if (llvm::Error error = device.synchronize())
    return std::move(error);
  return &inputs;
}

llvm::Expected<const Program *> BackwardBench::load(const std::string &key,
                                                    const Cell &cell,
                                                    const Tiles &candidate) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(cell, *context);
  if (!module)
    return module.takeError();
  CompileOptions options = makeOptions(arch, cell, candidate);
  options.backward = true;
  options.deterministic = deterministic;
  llvm::Expected<ProgramImage> image = compileProgramToGPU(**module, options);
  if (!image)
    return image.takeError();
  std::string code;
  for (const KernelImage &kernel : image->kernels)
    code += kernel.ptx;
  auto found = programs.find(code);
  if (found != programs.end())
    return &found->second;
  llvm::Expected<Program> made = Program::load(device, *image);
  if (!made)
    return made.takeError();
  const Program &program =
      programs.emplace(std::move(code), std::move(*made)).first->second;
  for (auto [kernel, loaded] :
       llvm::zip_equal(program.manifest().kernels, program.modules()))
    note(fmt::format(
        "{}: {}: {} rows, {} warps, {} shared bytes, {} registers, "
        "{} spilled bytes",
        key, kernel.name, kernel.rows, kernel.warps, kernel.sharedBytes,
        loaded.registers(), loaded.localBytes()));
  return &program;
}

llvm::Expected<double> BackwardBench::runOne(const Cell &cell,
                                             const Tiles &candidate,
                                             const std::string &key) {
  llvm::Expected<const Program *> program = load(key, cell, candidate);
  if (!program) {
    note(key + ": " + llvm::toString(program.takeError()));
    return NAN;
  }
  llvm::Expected<size_t> bytes = (*program)->workspaceBytes(arrays);
  if (!bytes)
    return bytes.takeError();
  if (llvm::Error error = grow(workspace, *bytes, false))
    return std::move(error);
  auto packed = (*program)->pack(arrays, workspace.pointer());
  if (!packed)
    return packed.takeError();
  return timeLaunches(device, [&] { return (*program)->launch(*packed); });
}

llvm::Error BackwardBench::run(const Cell &cell,
                               const std::vector<Tiles> &candidates,
                               tools::ProgressBar *shownBar) {
  bar = shownBar;
  llvm::Expected<Arrays *> inputs = prepare(cell);
  bool fits = bool(inputs);
  if (!fits)
    note(fmt::format("{}: skipped: {}", cell.name(),
                     llvm::toString(inputs.takeError())));
  for (const Tiles &candidate : candidates) {
    std::string impl = deterministic ? "flashc-deterministic" : "flashc";
    if (candidates.size() > 1 || candidate.text != "auto")
      impl += ":" + candidate.text;
    double ms = NAN;
    if (fits) {
      llvm::Expected<double> timed =
          runOne(cell, candidate, impl + " " + cell.name());
      if (!timed)
        return timed.takeError();
      ms = *timed;
    }
    printLine(cell, impl, "bwd", ms, NAN, kFlops * cell.flops(), bar);
  }
  return llvm::Error::success();
}
