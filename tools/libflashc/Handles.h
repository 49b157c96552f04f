// What the opaque handles of flashc.h are, and how arguments are taken.
#ifndef FLASHC_TOOLS_LIBFLASHC_HANDLES_H
#define FLASHC_TOOLS_LIBFLASHC_HANDLES_H

#include "flashc/Jit/Context.h"
#include "flashc/Support/Error.h"
#include "flashc/flashc.h"

#include <cstring>

struct flashc_error {
  std::string text;
};

struct flashc_context {
  std::shared_ptr<flashc::jit::Context> context;
};

struct flashc_future {
  std::shared_ptr<flashc::jit::Pending> pending;
};

struct flashc_kernel {
  explicit flashc_kernel(std::shared_ptr<const flashc::jit::Kernel> kernel);
  std::shared_ptr<const flashc::jit::Kernel> kernel;
  /// Of each parameter, as flashc_dtype.
  llvm::SmallVector<int32_t, 8> dtypes;
  /// For flashc_kernel_info: made when it is asked for.
  std::once_flag described;
  std::string manifest;
};

struct flashc_gradients {
  explicit flashc_gradients(
      std::shared_ptr<const flashc::jit::Gradients> gradients);
  std::shared_ptr<const flashc::jit::Gradients> gradients;
  /// For flashc_gradients_info: made when it is asked for, as a caller may
  /// compile before each launch.
  std::once_flag described;
  std::string manifest;
};

namespace flashc::capi {

/// The caller's description.
llvm::Expected<jit::KernelSpec> specOf(const flashc_attention_spec *given,
                                       const char *function);
jit::ProgressFunction progressOf(flashc_progress_function progress, void *user);
/// "memory", "disk" or "compiled".
const char *originName(CacheOrigin origin);

/// The caller's error; null for success.
flashc_error *give(llvm::Error error);

/// "`function`: `what` is NULL; ..." unless it is not.
llvm::Error checkPointer(const void *pointer, const char *function,
                         const char *what);

/// The caller's struct as this version knows it: fields that the caller does
/// not know are zero. `least` is the size of its first version. Fails on sizes
/// below it, and where a newer caller uses a field that is not known here.
llvm::Error takeStruct(const void *from, void *to, size_t known, size_t least,
                       const char *function, const char *name);

template <typename T>
llvm::Expected<T> take(const T *from, size_t least, const char *function,
                       const char *name) {
  T out{};
  if (llvm::Error error =
          takeStruct(from, &out, sizeof(T), least, function, name))
    return std::move(error);
  return out;
}

inline std::string textOr(const char *text, const char *otherwise) {
  return text ? text : otherwise;
}

/// "f16" and so on; empty for none.
std::string dtypeName(int32_t dtype);
/// 0 for none.
int32_t dtypeOf(llvm::StringRef name);

} // namespace flashc::capi

#endif // FLASHC_TOOLS_LIBFLASHC_HANDLES_H
