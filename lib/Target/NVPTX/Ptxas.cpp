// ptxas as a program: the kernel goes through temporary files.
#include "flashc/Target/NVPTX/Assembler.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashc;
using llvm::StringRef;
namespace sys = llvm::sys;

namespace {
/// Temporary files, removed with the object.
struct Files {
  llvm::SmallString<128> input, output, log;
  ~Files() {
    for (auto &path : {input, output, log})
      if (!path.empty())
        sys::fs::remove(path);
  }
  llvm::Error make() {
    for (auto [path, suffix] :
         {std::pair{&input, "ptx"}, {&output, "cubin"}, {&log, "log"}})
      if (std::error_code error =
              sys::fs::createTemporaryFile("flashc", suffix, *path))
        return makeError("cannot make a temporary file for ptxas: {}; make "
                         "room in the folder for them",
                         error.message());
    return llvm::Error::success();
  }
};

std::string contentOf(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

class Ptxas : public Assembler {
public:
  Ptxas(std::string title, std::string path)
      : Assembler(std::move(title)), path(std::move(path)) {}

  /// Runs the program; both its outputs come back. `ok` if it ended with 0.
  static llvm::Expected<Output> execute(const std::string &path,
                                        llvm::ArrayRef<StringRef> arguments,
                                        const Files &files) {
    std::optional<StringRef> redirects[] = {StringRef(""), files.log.str(),
                                            files.log.str()};
    llvm::SmallVector<StringRef> all = {path};
    llvm::append_range(all, arguments);
    std::string message;
    int code =
        sys::ExecuteAndWait(path, all, std::nullopt, redirects, 0, 0, &message);
    if (code < 0)
      return makeError("cannot run '{}': {}; give the path of ptxas", path,
                       message);
    return Output{code == 0, "", contentOf(files.log)};
  }

protected:
  llvm::Expected<Output>
  run(StringRef ptx, llvm::ArrayRef<std::string> options) const override {
    Files files;
    if (llvm::Error error = files.make())
      return std::move(error);
    std::error_code error;
    {
      llvm::raw_fd_ostream stream(files.input, error);
      stream << ptx;
      stream.flush();
      error = stream.error();
      stream.clear_error();
    }
    if (error)
      return makeError("cannot write '{}' for ptxas: {}; make room on its disk",
                       files.input.str().str(), error.message());
    llvm::SmallVector<StringRef> arguments(options.begin(), options.end());
    arguments.append({files.input, "-o", files.output});
    llvm::Expected<Output> output = execute(path, arguments, files);
    if (output && output->ok)
      output->cubin = contentOf(files.output);
    return output;
  }

private:
  std::string path;
};
} // namespace

llvm::Expected<std::unique_ptr<Assembler>> flashc::openPtxas(StringRef path) {
  if (path.empty())
    return makeError("there is no ptxas; install the CUDA toolkit, or give the "
                     "path of ptxas");
  Files files;
  if (llvm::Error error = files.make())
    return std::move(error);
  auto output = Ptxas::execute(path.str(), {"--version"}, files);
  if (!output)
    return output.takeError();
  // "Cuda compilation tools, release 13.0, V13.0.88"
  llvm::SmallVector<StringRef> matches;
  if (!output->ok ||
      !llvm::Regex("release [0-9.]+, V([0-9.]+)").match(output->log, &matches))
    return makeError("'{}' does not say its version as ptxas does: \"{}\"; "
                     "give the path of ptxas",
                     path.str(), StringRef(output->log).trim().str());
  return std::make_unique<Ptxas>("ptxas " + matches[1].str(), path.str());
}
