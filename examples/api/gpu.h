/* The few functions of the CUDA driver that the examples call, found when they
 * run: the same program works where there is no GPU. */
#ifndef FLASHC_EXAMPLES_GPU_H
#define FLASHC_EXAMPLES_GPU_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gpu {
  int (*alloc)(uint64_t *pointer, size_t bytes);
  int (*copy_to)(uint64_t to, const void *from, size_t bytes);
  int (*copy_from)(void *to, uint64_t from, size_t bytes);
  int (*stream_create)(void **stream, unsigned flags);
  int (*synchronize)(void *stream);
  int (*begin_capture)(void *stream, int mode);
  int (*end_capture)(void *stream, void **graph);
  int (*instantiate)(void **executable, void *graph, unsigned long long flags);
  int (*graph_launch)(void *executable, void *stream);
} gpu;

/* 1 with the first GPU's primary context current, 0 where there is none. */
static inline int gpu_open(gpu *g) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int),
      (*current)(void *);
  int ordinal;
  void *context;
  if (!cuda)
    return 0;
  *(void **)&init = dlsym(cuda, "cuInit");
  *(void **)&device = dlsym(cuda, "cuDeviceGet");
  *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
  *(void **)&current = dlsym(cuda, "cuCtxSetCurrent");
  *(void **)&g->alloc = dlsym(cuda, "cuMemAlloc_v2");
  *(void **)&g->copy_to = dlsym(cuda, "cuMemcpyHtoD_v2");
  *(void **)&g->copy_from = dlsym(cuda, "cuMemcpyDtoH_v2");
  *(void **)&g->stream_create = dlsym(cuda, "cuStreamCreate");
  *(void **)&g->synchronize = dlsym(cuda, "cuStreamSynchronize");
  *(void **)&g->begin_capture = dlsym(cuda, "cuStreamBeginCapture_v2");
  *(void **)&g->end_capture = dlsym(cuda, "cuStreamEndCapture");
  *(void **)&g->instantiate = dlsym(cuda, "cuGraphInstantiateWithFlags");
  *(void **)&g->graph_launch = dlsym(cuda, "cuGraphLaunch");
  return init(0) == 0 && device(&ordinal, 0) == 0 &&
         retain(&context, ordinal) == 0 && current(context) == 0;
}

/* bf16 is the upper half of a float. */
static inline uint16_t to_bf16(float x) {
  union {
    float f;
    uint32_t bits;
  } u;
  u.f = x;
  return (uint16_t)((u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
}
static inline float from_bf16(uint16_t x) {
  union {
    uint32_t bits;
    float f;
  } u;
  u.bits = (uint32_t)x << 16;
  return u.f;
}

#endif
