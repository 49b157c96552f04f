// flashc-run: attention on arrays from .npy files, compiled on the spot.
#include "Execute.h"
#include "Inputs.h"
#include "Verify.h"
#include "common/Flags.h"

#include "flashc/Compiler/Explain.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/InitLLVM.h"

using namespace flashc;
using namespace flashc::tools;
namespace cl = llvm::cl;

static cl::opt<std::string>
    target("target", cl::desc("Where to run: cpu (default) or cuda"),
           cl::value_desc("target"), cl::init("cpu"), cl::cat(category()));
static cl::opt<std::string> queryPath("q", cl::desc("Queries"),
                                      cl::value_desc("q.npy"),
                                      cl::cat(category()));
static cl::opt<std::string> keyPath("k", cl::desc("Keys"),
                                    cl::value_desc("k.npy"),
                                    cl::cat(category()));
static cl::opt<std::string> valuePath("v", cl::desc("Values"),
                                      cl::value_desc("v.npy"),
                                      cl::cat(category()));
static cl::opt<std::string>
    lengthsPath("lengths", cl::desc("Key length of each batch, int32"),
                cl::value_desc("n.npy"), cl::cat(category()));
static cl::list<std::string>
    captures("capture", cl::desc("Array of a captured tensor; may be repeated"),
             cl::value_desc("name=file.npy"), cl::cat(category()));
static cl::opt<std::string> outputPath("o", cl::desc("Output to write"),
                                       cl::value_desc("o.npy"),
                                       cl::cat(category()));
static cl::opt<std::string>
    lsePath("lse",
            cl::desc("Log-sum-exp to write: float32, batch x heads x length"),
            cl::value_desc("lse.npy"), cl::cat(category()));
static cl::opt<bool> check("check",
                           cl::desc("Compare with a reference in double"),
                           cl::cat(category()));
static cl::opt<bool> timeFlag("time", cl::desc("Time the kernel"),
                              cl::cat(category()));

static llvm::Expected<InputPaths> pathsFromFlags() {
  InputPaths paths{queryPath, keyPath, valuePath, lengthsPath, {}};
  for (const std::string &text : captures) {
    auto [name, path] = llvm::StringRef(text).split('=');
    if (name.empty() || path.empty())
      return makeError("--capture is '{}', but name=file.npy is expected; give "
                       "both",
                       text);
    for (const auto &[other, otherPath] : paths.captures)
      if (name == other)
        return makeError("--capture gives '{}' twice, as '{}' and '{}'; give "
                         "one of them",
                         other, otherPath, path.str());
    paths.captures.emplace_back(name.str(), path.str());
  }
  return paths;
}

static llvm::Error checkFlags() {
  if (target != "cpu" && target != "cuda")
    return makeError(
        "--target is '{}', but cpu and cuda are known; give one of "
        "them",
        target.getValue());
  if (isGiven("kv-lengths"))
    return makeError("--kv-lengths says nothing about the lengths themselves; "
                     "give --lengths=FILE.npy instead");
  if (target == "cpu" && isGiven("arch") && optionsFromFlags().arch != "cpu")
    return makeError("--arch is {}, but --target is cpu; give --target=cuda or "
                     "leave --arch out",
                     optionsFromFlags().arch);
  if (outputPath.empty() && lsePath.empty() && !check && !timeFlag)
    return makeError(
        "nothing is asked for; give -o FILE.npy, --check or --time");
  return llvm::Error::success();
}

static void printTiming(Inputs &inputs, const Timing &timing) {
  View q = inputs.queryView(), k = inputs.keyView();
  double pairs = countVisible(
      inputs.attention.forward.getMask().value_or(mlir::Attribute()),
      q.shape[2], k.shape[2]);
  double flops = 2.0 * (q.shape[3] + inputs.value.shape[3]) * pairs *
                 q.shape[0] * q.shape[1];
  llvm::outs() << fmt::format("time: {:.4g} ms a run ({} runs, {}), {:.4g} "
                              "TFLOP/s\n",
                              timing.milliseconds, timing.runs, timing.device,
                              flops / timing.milliseconds * 1e-9);
}

/// Both files or none.
static llvm::Error writeResults(const Results &results) {
  if (!outputPath.empty())
    if (llvm::Error error = writeNpy(outputPath, results.output))
      return error;
  if (!lsePath.empty())
    return writeNpy(lsePath, *results.lse);
  return llvm::Error::success();
}

static llvm::Error runFlashcRun() {
  if (llvm::Error error = checkFlags())
    return error;
  llvm::Expected<InputPaths> paths = pathsFromFlags();
  if (!paths)
    return paths.takeError();
  auto context = makeContext();
  llvm::Expected<Inputs> inputs = readInputs(*paths, *context);
  if (!inputs)
    return inputs.takeError();
  if (!lsePath.empty() && !inputs->attention.returnsLse)
    return makeError("--lse is '{}', but the description does not return the "
                     "lse; return it or leave the flag out",
                     lsePath.getValue());
  CompileOptions options = optionsFromFlags();
  llvm::Expected<Results> results =
      target == "cpu" ? runOnCPU(*inputs, options, timeFlag)
                      : runOnCUDA(*inputs, options, isGiven("arch"), timeFlag);
  if (!results)
    return results.takeError();
  if (check) {
    llvm::Expected<std::string> summary = verifyResults(*inputs, *results);
    if (!summary)
      return summary.takeError();
    llvm::outs() << "check: " << *summary << '\n';
  }
  if (results->timing)
    printTiming(*inputs, *results->timing);
  return writeResults(*results);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  parseFlags(argc, argv, "flashc-run: attention on arrays from .npy files\n");
  if (llvm::Error error = runFlashcRun())
    return fail(std::move(error));
  return 0;
}
