// The part of an emitted header that is the same for all kernels.
#ifndef FLASHC_LIB_COMPILER_HEADERTEXT_H
#define FLASHC_LIB_COMPILER_HEADERTEXT_H

namespace flashc {

inline constexpr const char kHeaderCommon[] = R"(
#ifndef FLASHC_EMBEDDED
#define FLASHC_EMBEDDED
/* An array on the device: batch, heads, length, head dim. Strides in elements. */
typedef struct flashc_embedded_array {
  CUdeviceptr data;
  int64_t shape[4];
  int64_t strides[4];
} flashc_embedded_array;

/* Tile counters of launches, and behind them those of captured launches, which
   keep theirs; then zeros, which arrays without elements are read from. */
enum {
  FLASHC_EMBEDDED_COUNTERS = 4096,
  FLASHC_EMBEDDED_CAPTURED = 65536,
  FLASHC_EMBEDDED_ZEROS = 512
};

static inline CUresult flashc_embedded_scratch(CUdeviceptr *scratch) {
  size_t bytes = 16 * (size_t)(FLASHC_EMBEDDED_COUNTERS + FLASHC_EMBEDDED_CAPTURED) +
                 FLASHC_EMBEDDED_ZEROS;
  CUresult result = cuMemAlloc(scratch, bytes);
  if (result == CUDA_SUCCESS)
    result = cuMemsetD8(*scratch, 0, bytes);
  return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

static inline CUdeviceptr flashc_embedded_counter(CUdeviceptr scratch, uint32_t next[2],
                                                  CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuStreamIsCapturing(stream, &status);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE)
    return scratch + 16 * (__atomic_fetch_add(&next[0], 1, __ATOMIC_RELAXED) %
                           FLASHC_EMBEDDED_COUNTERS);
  return scratch + 16 * (FLASHC_EMBEDDED_COUNTERS +
                         __atomic_fetch_add(&next[1], 1, __ATOMIC_RELAXED) %
                             FLASHC_EMBEDDED_CAPTURED);
}

/* 0 if an address or a stride is no multiple of the bytes that copies move. */
static inline int flashc_embedded_aligned(const flashc_embedded_array *a, int64_t bytes,
                                          int64_t element) {
  int n, ok = a->data % (uint64_t)bytes == 0;
  for (n = 0; n < 3; ++n)
    ok &= a->shape[n] <= 1 || a->strides[n] * element % bytes == 0;
  return ok;
}

static inline int flashc_embedded_empty(const flashc_embedded_array *a) {
  return !a->shape[0] || !a->shape[1] || !a->shape[2];
}

#if CUDA_VERSION >= 12000
/* Boxes of `rows` rows of 64 columns, stored with the 128-byte swizzle. */
static inline CUresult flashc_embedded_map(CUtensorMap *map, const flashc_embedded_array *a,
                                           CUtensorMapDataType type, int64_t rows,
                                           CUdeviceptr zeros) {
  int whole = a->shape[3] % 64 == 0, empty = flashc_embedded_empty(a), n;
  cuuint64_t size[3] = {1, 1, 1}, step[3], sizes[5], steps[4];
  cuuint32_t box[5] = {64, 1, 1, 1, 1}, ones[5] = {1, 1, 1, 1, 1};
  for (n = 0; n < 3; ++n) {
    step[n] = (cuuint64_t)a->shape[3] * 2;
    if (empty || a->shape[n] == 1)
      continue;
    size[n] = (cuuint64_t)a->shape[n];
    step[n] = (cuuint64_t)a->strides[n] * 2;
  }
  box[1] = (cuuint32_t)rows;
  sizes[0] = whole ? 64 : (cuuint64_t)a->shape[3];
  sizes[1] = size[2];
  steps[0] = step[2];
  if (whole) {
    box[2] = (cuuint32_t)(a->shape[3] / 64);
    sizes[2] = box[2];
    sizes[3] = size[1];
    sizes[4] = size[0];
    steps[1] = 128;
    steps[2] = step[1];
    steps[3] = step[0];
  } else {
    sizes[2] = size[1];
    sizes[3] = size[0];
    steps[1] = step[1];
    steps[2] = step[0];
  }
  return cuTensorMapEncodeTiled(map, type, whole ? 5 : 4, (void *)(uintptr_t)(empty ? zeros : a->data),
                                sizes, steps, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
#endif
#endif
)";

} // namespace flashc

#endif // FLASHC_LIB_COMPILER_HEADERTEXT_H
