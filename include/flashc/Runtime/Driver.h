//===- Driver.h - The CUDA driver, found when running -----------*- C++ -*-===//
//
// The few functions of the CUDA driver API that flashc calls, by function
// pointer, so that everything builds, links and is tested where there is no GPU
// and no CUDA header. Source of the signatures: CUDA Driver API reference.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_DRIVER_H
#define FLASHC_RUNTIME_DRIVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace flashc::cuda {

using Result = int; // CUresult; 0 is success
using DeviceHandle = int;
using ContextHandle = void *;
using ModuleHandle = void *;
using FunctionHandle = void *;
using StreamHandle = void *;
using EventHandle = void *;
using Pointer = uint64_t; // CUdeviceptr

/// As CUlaunchAttribute: one of 64 bytes of values.
struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  int value = 0;
  char others[60] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel may start
/// before the one in front of it has ended.
constexpr int kOverlapLaunch = 6;

/// As CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned attributeCount = 0;
};

// X(field, symbol, parameters): symbols carry the version suffix that cuda.h
// hides.
#define FLASHC_DRIVER_FUNCTIONS(X)                                             \
  X(init, cuInit, (unsigned flags))                                            \
  X(getErrorName, cuGetErrorName, (Result, const char **))                     \
  X(getErrorString, cuGetErrorString, (Result, const char **))                 \
  X(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  X(deviceGet, cuDeviceGet, (DeviceHandle *, int ordinal))                     \
  X(deviceGetName, cuDeviceGetName, (char *, int size, DeviceHandle))          \
  X(deviceGetAttribute, cuDeviceGetAttribute,                                  \
    (int *, int attribute, DeviceHandle))                                      \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain,                                \
    (ContextHandle *, DeviceHandle))                                           \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (DeviceHandle))           \
  X(ctxSetCurrent, cuCtxSetCurrent, (ContextHandle))                           \
  X(ctxGetCurrent, cuCtxGetCurrent, (ContextHandle *))                         \
  X(ctxPushCurrent, cuCtxPushCurrent_v2, (ContextHandle))                      \
  X(ctxPopCurrent, cuCtxPopCurrent_v2, (ContextHandle *))                      \
  X(ctxGetDevice, cuCtxGetDevice, (DeviceHandle *))                            \
  X(ctxSynchronize, cuCtxSynchronize, ())                                      \
  X(memAlloc, cuMemAlloc_v2, (Pointer *, size_t bytes))                        \
  X(memFree, cuMemFree_v2, (Pointer))                                          \
  X(memGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                         \
  X(memcpyHtoD, cuMemcpyHtoD_v2, (Pointer, const void *, size_t bytes))        \
  X(memcpyDtoH, cuMemcpyDtoH_v2, (void *, Pointer, size_t bytes))              \
  X(memsetD8, cuMemsetD8_v2, (Pointer, unsigned char, size_t count))           \
  X(memsetD8Async, cuMemsetD8Async,                                            \
    (Pointer, unsigned char, size_t count, StreamHandle))                      \
  X(pointerGetAttribute, cuPointerGetAttribute,                                \
    (void *value, int attribute, Pointer))                                     \
  X(streamCreate, cuStreamCreate, (StreamHandle *, unsigned flags))            \
  X(streamDestroy, cuStreamDestroy_v2, (StreamHandle))                         \
  X(streamSynchronize, cuStreamSynchronize, (StreamHandle))                    \
  X(streamIsCapturing, cuStreamIsCapturing, (StreamHandle, int *status))       \
  X(exchangeCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode))       \
  X(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (ModuleHandle *, const void *image, unsigned count, int *options,          \
     void **values))                                                           \
  X(moduleUnload, cuModuleUnload, (ModuleHandle))                              \
  X(moduleGetFunction, cuModuleGetFunction,                                    \
    (FunctionHandle *, ModuleHandle, const char *name))                        \
  X(funcSetAttribute, cuFuncSetAttribute,                                      \
    (FunctionHandle, int attribute, int value))                                \
  X(funcGetAttribute, cuFuncGetAttribute,                                      \
    (int *, int attribute, FunctionHandle))                                    \
  X(launchKernel, cuLaunchKernel,                                              \
    (FunctionHandle, unsigned gridX, unsigned gridY, unsigned gridZ,           \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     StreamHandle, void **params, void **extra))                               \
  X(eventCreate, cuEventCreate, (EventHandle *, unsigned flags))               \
  X(eventDestroy, cuEventDestroy_v2, (EventHandle))                            \
  X(eventRecord, cuEventRecord, (EventHandle, StreamHandle))                   \
  X(eventSynchronize, cuEventSynchronize, (EventHandle))                       \
  X(eventElapsedTime, cuEventElapsedTime, (float *, EventHandle, EventHandle))

// Null where the driver is older than they are.
#define FLASHC_OPTIONAL_DRIVER_FUNCTIONS(X)                                    \
  X(launchKernelEx, cuLaunchKernelEx,                                          \
    (const LaunchConfig *, FunctionHandle, void **params, void **extra))       \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                              \
    (void *map, int elementType, uint32_t rank, void *address,                 \
     const uint64_t *sizes, const uint64_t *byteStrides, const uint32_t *box,  \
     const uint32_t *elementStrides, int interleave, int swizzle,              \
     int l2Promotion, int fill))

/// The driver's functions; a test fills them with its own.
struct Driver {
#define FLASHC_DECLARE(field, symbol, parameters)                              \
  Result(*field) parameters = nullptr;
  FLASHC_DRIVER_FUNCTIONS(FLASHC_DECLARE)
  FLASHC_OPTIONAL_DRIVER_FUNCTIONS(FLASHC_DECLARE)
#undef FLASHC_DECLARE

  /// Load the library and start the driver. Fails, with the loader's or the
  /// driver's reason, where there is none.
  static llvm::Expected<std::shared_ptr<const Driver>>
  load(llvm::StringRef library = "libcuda.so.1");

  /// Success, or "`where`: `call` failed with CUDA_ERROR_X (what it means);
  /// `advice`".
  llvm::Error check(Result result, llvm::StringRef where, llvm::StringRef call,
                    llvm::StringRef advice) const;
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_DRIVER_H
