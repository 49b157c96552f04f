// ptxas as a library: no process and no files. NVIDIA ships it as an archive
// alone, from which cmake/FlashcPtxCompiler.cmake makes a shared library.
#include "flashc/Target/NVPTX/Assembler.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/ScopeExit.h"

#include <dlfcn.h>

using namespace flashc;
using llvm::StringRef;

namespace {
using Result = int; // nvPTXCompileResult; 0 is success
using Handle = void *;

// X(field, symbol, parameters). Source: nvPTXCompiler.h, CUDA 13.0.
#define FLASHC_PTX_COMPILER_FUNCTIONS(X)                                       \
  X(version, nvPTXCompilerGetVersion, (unsigned *, unsigned *))                \
  X(create, nvPTXCompilerCreate, (Handle *, size_t, const char *))             \
  X(destroy, nvPTXCompilerDestroy, (Handle *))                                 \
  X(compile, nvPTXCompilerCompile, (Handle, int, const char *const *))         \
  X(programSize, nvPTXCompilerGetCompiledProgramSize, (Handle, size_t *))      \
  X(program, nvPTXCompilerGetCompiledProgram, (Handle, void *))                \
  X(errorSize, nvPTXCompilerGetErrorLogSize, (Handle, size_t *))               \
  X(error, nvPTXCompilerGetErrorLog, (Handle, char *))                         \
  X(infoSize, nvPTXCompilerGetInfoLogSize, (Handle, size_t *))                 \
  X(info, nvPTXCompilerGetInfoLog, (Handle, char *))

struct Functions {
#define FLASHC_DECLARE(field, symbol, parameters)                              \
  Result(*field) parameters = nullptr;
  FLASHC_PTX_COMPILER_FUNCTIONS(FLASHC_DECLARE)
#undef FLASHC_DECLARE
};

class NvPTXCompiler : public Assembler {
public:
  NvPTXCompiler(std::string title, const Functions &functions)
      : Assembler(std::move(title)), api(functions) {}

protected:
  llvm::Expected<Output>
  run(StringRef ptx, llvm::ArrayRef<std::string> options) const override {
    Handle handle = nullptr;
    std::string text = ptx.str(); // ends in zero
    if (Result result = api.create(&handle, text.size(), text.c_str()))
      return makeError("{} cannot begin: nvPTXCompilerCreate failed with {}",
                       name(), result);
    llvm::scope_exit destroy([&] { api.destroy(&handle); });
    std::vector<const char *> pointers;
    for (const std::string &option : options)
      pointers.push_back(option.c_str());
    Output output;
    output.ok = api.compile(handle, static_cast<int>(pointers.size()),
                            pointers.data()) == 0;
    output.log = logOf(handle, api.errorSize, api.error) +
                 logOf(handle, api.infoSize, api.info);
    size_t size = 0;
    if (output.ok && api.programSize(handle, &size) == 0) {
      output.cubin.resize(size);
      output.ok = api.program(handle, output.cubin.data()) == 0;
    }
    return output;
  }

private:
  static std::string logOf(Handle handle, Result (*sizeOf)(Handle, size_t *),
                           Result (*textOf)(Handle, char *)) {
    size_t size = 0;
    if (sizeOf(handle, &size) != 0 || size == 0)
      return "";
    std::string text(size + 1, '\0');
    if (textOf(handle, text.data()) != 0)
      return "";
    return text.c_str();
  }
  Functions api;
};
} // namespace

llvm::Expected<std::unique_ptr<Assembler>>
flashc::openNvPTXCompiler(StringRef library) {
  if (library.empty()) // which would mean the program itself
    return makeError("there is no nvPTXCompiler; give the path of the library");
  // Never closed: it may have threads of its own.
  void *handle = dlopen(library.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError("no nvPTXCompiler: {}; build it from NVIDIA's archive "
                     "(target flashc-ptx-compiler), or use ptxas",
                     dlerror());
  Functions functions;
#define FLASHC_FIND(field, symbol, parameters)                                 \
  functions.field =                                                            \
      reinterpret_cast<decltype(functions.field)>(dlsym(handle, #symbol));     \
  if (!functions.field)                                                        \
    return makeError(                                                          \
        "nvPTXCompiler '{}' has no function {}; use that of CUDA "             \
        "11.1 or newer",                                                       \
        library.str(), #symbol);
  FLASHC_PTX_COMPILER_FUNCTIONS(FLASHC_FIND)
#undef FLASHC_FIND
  unsigned major = 0, minor = 0;
  if (Result result = functions.version(&major, &minor))
    return makeError("nvPTXCompiler '{}' does not say its version: error {}; "
                     "use another one",
                     library.str(), result);
  return std::make_unique<NvPTXCompiler>(
      fmt::format("nvPTXCompiler {}.{}", major, minor), functions);
}
