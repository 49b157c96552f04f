/* A kernel compiled when the program was built: only the CUDA driver is needed.
 * prefill.h is what `flashc --emit=header` wrote (see CMakeLists.txt). */
#include "prefill.h"

#include <stdio.h>

enum { Heads = 4, Length = 256, Dim = 64, Elements = Heads * Length * Dim };

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    CUresult result = (call);                                                                                          \
    if (result != CUDA_SUCCESS) {                                                                                      \
      fprintf(stderr, "%s failed with %d\n", #call, (int)result);                                                      \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

int main(void) {
  static uint16_t host[Elements];
  flashc_embedded_array arrays[4];
  prefill_kernel kernel;
  CUdevice device;
  CUcontext context;
  int n;
  if (cuInit(0) != CUDA_SUCCESS) {
    printf("there is no GPU\n");
    return 0;
  }
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(prefill_load(&kernel));
  for (n = 0; n < 4; ++n) {
    flashc_embedded_array a = {0, {1, Heads, Length, Dim}, {Elements, Length * Dim, Dim, 1}};
    int i;
    CHECK(cuMemAlloc(&a.data, sizeof host));
    for (i = 0; i < Elements; ++i) /* bf16: V is 2, Q and K are 0 */
      host[i] = n == 2 ? 0x4000 : 0;
    CHECK(cuMemcpyHtoD(a.data, host, sizeof host));
    arrays[n] = a;
  }
  CHECK(prefill_launch(&kernel, NULL, &arrays[0], &arrays[1], &arrays[2], &arrays[3]));
  CHECK(cuMemcpyDtoH(host, arrays[3].data, sizeof host));
  for (n = 0; n < Elements; ++n)
    if (host[n] != 0x4000) {
      printf("element %d is %#x, not 0x4000\n", n, host[n]);
      return 1;
    }
  prefill_unload(&kernel);
  printf("all %d elements are 2\n", (int)Elements);
  return 0;
}
