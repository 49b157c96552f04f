// Errors and the taking of versioned structs.
#include "Handles.h"

using namespace flashc;
using namespace flashc::capi;

static constexpr const char *kDtypes[] = {"",   "f16", "bf16", "f32",
                                          "i8", "i32", "i64"};

std::string capi::dtypeName(int32_t dtype) {
  return dtype > 0 && dtype < int32_t(std::size(kDtypes)) ? kDtypes[dtype] : "";
}

int32_t capi::dtypeOf(llvm::StringRef name) {
  if (name == "i1") // a byte each
    return FLASHC_I8;
  for (size_t i = 1; i < std::size(kDtypes); ++i)
    if (name == kDtypes[i])
      return int32_t(i);
  return 0;
}

flashc_error *capi::give(llvm::Error error) {
  if (!error)
    return nullptr;
  return new flashc_error{llvm::toString(std::move(error))};
}

llvm::Error capi::checkPointer(const void *pointer, const char *function,
                               const char *what) {
  if (pointer)
    return llvm::Error::success();
  return makeError("{}: {} is NULL; give one", function, what);
}

llvm::Error capi::takeStruct(const void *from, void *to, size_t known,
                             size_t least, const char *function,
                             const char *name) {
  if (llvm::Error error = checkPointer(from, function, name))
    return error;
  size_t size = 0;
  std::memcpy(&size, from, sizeof size);
  constexpr size_t kMost = 1 << 16;
  if (size < least || size > kMost)
    return makeError("{}: the size of {} is {}, but is from {} on; set it to "
                     "sizeof(flashc_{})",
                     function, name, size, least, name);
  std::memcpy(to, from, std::min(size, known));
  const char *bytes = static_cast<const char *>(from);
  for (size_t at = known; at < size; ++at)
    if (bytes[at] != 0)
      return makeError("{}: {} has {} bytes, of which this library (flashc {}) "
                       "knows {}, and a later one is not zero; use a newer "
                       "library",
                       function, name, size, FLASHC_VERSION, known);
  return llvm::Error::success();
}

const char *flashc_version(void) { return FLASHC_VERSION; }

const char *flashc_error_message(const flashc_error *error) {
  return error ? error->text.c_str() : "";
}

void flashc_error_free(flashc_error *error) { delete error; }

void flashc_string_free(char *text) { std::free(text); }
