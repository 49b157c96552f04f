// flashc-run: attention on arrays from .npy files, compiled on the spot.
#include "Backward.h"
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

static cl::opt<std::string>
    doPath("do",
           cl::desc("With --backward: gradient of the output, an array as it"),
           cl::value_desc("do.npy"), cl::cat(category()));
static cl::opt<std::string>
    dlsePath("dlse", cl::desc("With --backward: gradient of the lse"),
             cl::value_desc("dlse.npy"), cl::cat(category()));
static cl::opt<std::string> dqPath("dq",
                                   cl::desc("Gradient of the queries to write"),
                                   cl::value_desc("dq.npy"),
                                   cl::cat(category()));
static cl::opt<std::string> dkPath("dk",
                                   cl::desc("Gradient of the keys to write"),
                                   cl::value_desc("dk.npy"),
                                   cl::cat(category()));
static cl::opt<std::string> dvPath("dv",
                                   cl::desc("Gradient of the values to write"),
                                   cl::value_desc("dv.npy"),
                                   cl::cat(category()));
static cl::list<std::string> gradients(
    "gradient",
    cl::desc("Gradient of a captured tensor to write; may be repeated"),
    cl::value_desc("name=file.npy"), cl::cat(category()));

using NamedPaths = std::vector<std::pair<std::string, std::string>>;

/// name=file.npy of a flag that may be repeated.
static llvm::Expected<NamedPaths>
namedPaths(llvm::StringRef flag, llvm::ArrayRef<std::string> texts) {
  NamedPaths paths;
  for (const std::string &text : texts) {
    auto [name, path] = llvm::StringRef(text).split('=');
    if (name.empty() || path.empty())
      return makeError("--{} is '{}', but name=file.npy is expected; give "
                       "both",
                       flag.str(), text);
    for (const auto &[other, otherPath] : paths)
      if (name == other)
        return makeError("--{} gives '{}' twice, as '{}' and '{}'; give "
                         "one of them",
                         flag.str(), other, otherPath, path.str());
    paths.emplace_back(name.str(), path.str());
  }
  return paths;
}

static llvm::Expected<GradientPaths> gradientPathsFromFlags() {
  GradientPaths paths{doPath, dlsePath, dqPath, dkPath, dvPath, {}};
  llvm::Expected<NamedPaths> named = namedPaths(
      "gradient", std::vector<std::string>(gradients.begin(), gradients.end()));
  if (!named)
    return named.takeError();
  paths.captures = std::move(*named);
  return paths;
}

static llvm::Expected<InputPaths> pathsFromFlags() {
  InputPaths paths{queryPath, keyPath, valuePath, lengthsPath, {}};
  llvm::Expected<NamedPaths> named = namedPaths(
      "capture", std::vector<std::string>(captures.begin(), captures.end()));
  if (!named)
    return named.takeError();
  paths.captures = std::move(*named);
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
  if (llvm::Error error = checkBackwardFlags(
          {"do", "dlse", "dq", "dk", "dv", "gradient", "deterministic"}))
    return error;
  if (optionsFromFlags().backward && target != "cpu")
    return makeError("--backward runs on --target=cpu only, but --target is "
                     "{}; leave one of them out",
                     target.getValue());
  bool writesGradients = !dqPath.empty() || !dkPath.empty() ||
                         !dvPath.empty() || !gradients.empty();
  if (outputPath.empty() && lsePath.empty() && !writesGradients && !check &&
      !timeFlag)
    return makeError(
        "nothing is asked for; give -o FILE.npy, --check or --time");
  return llvm::Error::success();
}

/// For `ofScores` products of Q K^T's size and `ofValues` of P V's.
static void printTiming(Inputs &inputs, const Timing &timing,
                        double ofScores = 1, double ofValues = 1) {
  View q = inputs.queryView(), k = inputs.keyView();
  double pairs = countVisible(
      inputs.attention.forward.getMask().value_or(mlir::Attribute()),
      q.shape[2], k.shape[2]);
  double flops = 2.0 *
                 (ofScores * q.shape[3] + ofValues * inputs.value.shape[3]) *
                 pairs * q.shape[0] * q.shape[1];
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

/// Behind the forward: gradients, checked, timed and written.
static llvm::Error runBackward(Inputs &inputs, GradientInputs &gradientInputs,
                               const GradientPaths &paths, Results &forward,
                               const CompileOptions &options) {
  llvm::Expected<GradientResults> results =
      runBackwardOnCPU(inputs, gradientInputs, forward, options, timeFlag);
  if (!results)
    return results.takeError();
  if (check) {
    llvm::Expected<std::string> summary =
        verifyGradients(inputs, gradientInputs, forward, *results, options);
    if (!summary)
      return summary.takeError();
    llvm::outs() << "check: " << *summary << '\n';
  }
  // Q K^T, dQ and dK; dO V^T and dV.
  if (results->timing)
    printTiming(inputs, *results->timing, 3, 2);
  return writeGradients(paths, gradientInputs, *results, inputs);
}

static llvm::Error runFlashcRun() {
  if (llvm::Error error = checkFlags())
    return error;
  CompileOptions options = optionsFromFlags();
  bool wantsGradients = options.backward;
  llvm::Expected<GradientPaths> gradientPaths = gradientPathsFromFlags();
  if (!gradientPaths)
    return gradientPaths.takeError();
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
  GradientInputs gradientInputs;
  if (wantsGradients) {
    llvm::Expected<GradientInputs> read =
        readGradientInputs(*gradientPaths, *inputs);
    if (!read)
      return read.takeError();
    gradientInputs = std::move(*read);
    returnLse(*inputs);
  }
  options.backward = false; // the forward first
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
  if (wantsGradients)
    if (llvm::Error error = runBackward(*inputs, gradientInputs, *gradientPaths,
                                        *results, options))
      return error;
  return writeResults(*results);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  parseFlags(argc, argv, "flashc-run: attention on arrays from .npy files\n");
  if (llvm::Error error = runFlashcRun())
    return fail(std::move(error));
  return 0;
}
