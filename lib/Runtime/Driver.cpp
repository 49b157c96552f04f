//===- Driver.cpp - dlopen and error texts --------------------------------===//
//
// First of the runtime: everything else gets its functions from here.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Driver.h"
#include "flashc/Support/Error.h"

#include <dlfcn.h>

using namespace flashc;
using namespace flashc::cuda;

static constexpr llvm::StringLiteral
    kNoDriver("install NVIDIA's driver, or run on the CPU (--target=cpu)");

llvm::Expected<std::shared_ptr<const Driver>>
Driver::load(llvm::StringRef library) {
  // Never closed: the driver keeps threads of its own until the process ends.
  void *handle = dlopen(library.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError("no CUDA driver: {}; {}", dlerror(), kNoDriver.str());
  auto driver = std::make_shared<Driver>();
#define FLASHC_TRY(field, symbol, parameters)                                  \
  driver->field =                                                              \
      reinterpret_cast<decltype(driver->field)>(dlsym(handle, #symbol));
#define FLASHC_FIND(field, symbol, parameters)                                 \
  FLASHC_TRY(field, symbol, parameters)                                        \
  if (!driver->field)                                                          \
    return makeError("CUDA driver '{}' has no function {}; install a driver "  \
                     "of CUDA 11 or newer",                                    \
                     library.str(), #symbol);
  FLASHC_DRIVER_FUNCTIONS(FLASHC_FIND)
  FLASHC_OPTIONAL_DRIVER_FUNCTIONS(FLASHC_TRY)
#undef FLASHC_FIND
#undef FLASHC_TRY
  if (llvm::Error error =
          driver->check(driver->init(0), "CUDA driver", "cuInit", kNoDriver))
    return std::move(error);
  return driver;
}

llvm::Error Driver::check(Result result, llvm::StringRef where,
                          llvm::StringRef call, llvm::StringRef advice) const {
  if (result == 0)
    return llvm::Error::success();
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    name = "an unknown error";
  if (getErrorString(result, &text) != 0 || !text)
    text = "no description";
  return makeError("{}: {} failed with {} ({}, code {}); {}", where.str(),
                   call.str(), name, text, result, advice.str());
}
