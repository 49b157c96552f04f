/* A CUDA driver that writes down its calls. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUdeviceptr next = 0x1000000;
int fake_capturing = 0;
uint64_t fake_last_parameter;
int fake_parameters = 0;

CUresult cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  (void)device;
  return *context = (CUcontext)&next, CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) { return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }
CUresult cuCtxGetDevice(CUdevice *device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
  (void)device;
  return *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 7 : 0, CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  *pointer = next;
  next += (bytes + 0xfffff) & ~(size_t)0xfffff;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr pointer) { return printf("freed\n"), pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return to && from && bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return memset(to, 0, bytes), from ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char byte, size_t bytes) {
  return to && !byte && bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  const char *text = (const char *)image;
  if (!memcmp(text, "\177ELF", 4))
    return CUDA_ERROR_NO_BINARY_FOR_GPU; /* it is for no GPU that is here */
  printf("load PTX of %s for %.5s\n", strstr(text, ".entry prefill(") ? "prefill" : "another",
         strstr(text, ".target ") + 8);
  return *module = (CUmodule)&next, CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) { return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  return *function = (CUfunction)&next, module && name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  return function && which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 0 ? CUDA_SUCCESS
                                                                                           : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  (void)stream;
  return *status = fake_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
static void print_list(const char *what, int count, const char *separator, const uint64_t *list) {
  int n;
  printf("%s", what);
  for (n = 0; n < count; ++n)
    printf("%s%llu", n ? separator : "", (unsigned long long)list[n]);
}
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  uint64_t wide[5];
  cuuint32_t n;
  for (n = 0; n < rank; ++n)
    wide[n] = box[n];
  print_list("map of ", (int)rank, "x", (const uint64_t *)sizes);
  print_list(", strides ", (int)rank - 1, " ", (const uint64_t *)strides);
  print_list(", box ", (int)rank, "x", wide);
  printf("\n");
  return (uintptr_t)map % 64 == 0 && type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && address && steps[0] == 1 &&
                 interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && swizzle == CU_TENSOR_MAP_SWIZZLE_128B &&
                 promotion == CU_TENSOR_MAP_L2_PROMOTION_L2_256B && fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty,
                        unsigned tz, unsigned bytes, CUstream stream, void **params, void **extra) {
  (void)stream, (void)extra, (void)function;
  printf("launch %u blocks of %u threads, %u bytes, parameters: %#llx %d %d %d %lld %lld %lld\n", x * y * z,
         threads * ty * tz, bytes, *(unsigned long long *)params[0], *(int *)params[1], *(int *)params[2],
         *(int *)params[3], *(long long *)params[4], *(long long *)params[5], *(long long *)params[6]);
  if (fake_parameters)
    fake_last_parameter = *(uint64_t *)params[fake_parameters - 1];
  return CUDA_SUCCESS;
}
