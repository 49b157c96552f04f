/*===- flashc.h - Attention kernels, compiled when they are asked for
------===*\
 *
 * The C API of libflashc.so, and the only one it has: flashc.hpp is made of it.
 * Its functions and the fields of its structs stay; new fields come at the end
 * of a struct, whose `size` says which the caller knows.
 *
 * A function that can fail returns an error, or NULL where it did not; the
 * caller frees it. What a function gives through a pointer it leaves alone when
 * it fails. Any thread may call any function at any time, on one handle too,
but
 * for the one that frees it.
 *
 *   flashc_context_options options = FLASHC_CONTEXT_OPTIONS_INIT;
 *   flashc_attention_spec spec = FLASHC_ATTENTION_SPEC_INIT;
 *   spec.head_dim = 128;
 *   spec.mask = "causal";
 *   flashc_context_create(&options, &context);   // each returns an error
 *   flashc_compile(context, &spec, NULL, NULL, &kernel);
 *   flashc_arguments arguments = FLASHC_ARGUMENTS_INIT;
 *   arguments.query = ...
 *   flashc_launch(kernel, stream, &arguments);
 *
\*===----------------------------------------------------------------------===*/
#ifndef FLASHC_FLASHC_H
#define FLASHC_FLASHC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FLASHC_API __attribute__((visibility("default")))
#else
#define FLASHC_API
#endif

/** The first value of each struct with a `size`: all else is zero. */
#ifdef __cplusplus
#define FLASHC_INIT(type) {sizeof(type)}
#else
#define FLASHC_INIT(type) {.size = sizeof(type)}
#endif

typedef struct flashc_error flashc_error;
typedef struct flashc_context flashc_context;
typedef struct flashc_kernel flashc_kernel;
typedef struct flashc_future flashc_future;

/** "0.1.0". */
FLASHC_API const char *flashc_version(void);

/** What went wrong and what to do, one sentence; valid until the error is
 * freed.
 *  "" for NULL. */
FLASHC_API const char *flashc_error_message(const flashc_error *error);
FLASHC_API void flashc_error_free(flashc_error *error);

/*===- Contexts
 * ------------------------------------------------------------===*/

/** What makes a cubin of PTX. The code is the same with each. */
typedef enum flashc_assembler {
  /** The first of the others that is found. */
  FLASHC_ASSEMBLER_AUTO = 0,
  /** ptxas as a library in the process. */
  FLASHC_ASSEMBLER_NVPTXCOMPILER = 1,
  /** ptxas as a program. */
  FLASHC_ASSEMBLER_PTXAS = 2,
  /** None: the driver compiles the PTX when the kernel is loaded. */
  FLASHC_ASSEMBLER_DRIVER = 3
} flashc_assembler;

/** Called by any thread that compiles, with a sentence for the user. */
typedef void (*flashc_warning_function)(void *user, const char *text);

typedef struct flashc_context_options {
  /** sizeof(flashc_context_options). */
  size_t size;
  /** "cpu", "sm_80", "sm_90a" and so on; NULL: the newest that the device runs.
   */
  const char *target;
  /** Number of the GPU that kernels run on; -1: none, they are only compiled.
   *  Not looked at for the target "cpu", whose kernels run in this process. */
  int32_t device;
  /** flashc_assembler. */
  int32_t assembler;
  /** A CUcontext that outlives this context; NULL: the device's primary one,
   *  which the CUDA runtime and frameworks use. */
  void *cuda_context;
  /** Folder of compiled kernels, shared by all processes; NULL:
   *  $FLASHC_CACHE_DIR, or flashc under $XDG_CACHE_HOME or ~/.cache; "": none.
   */
  const char *cache_dir;
  /** Bytes of kernels on disk and in memory; 0: 1 GiB and 256 MiB. */
  uint64_t cache_bytes;
  uint64_t cache_memory_bytes;
  /** Loaded kernels that are kept for the next compile of the same description
   *  after they are freed; 0: 256. */
  uint32_t max_kernels;
  /** Threads that run a kernel on the CPU, and most threads that compile in the
   *  background; 0: as many as the machine has. */
  uint32_t threads;
  /** Path of ptxas; NULL: on $PATH, else under /usr/local/cuda. */
  const char *ptxas;
  /** Path of nvPTXCompiler as a shared library; NULL: beside libflashc.so. */
  const char *nvptxcompiler;
  /** May be NULL. */
  flashc_warning_function warning;
  void *warning_user;
} flashc_context_options;

#define FLASHC_CONTEXT_OPTIONS_INIT FLASHC_INIT(flashc_context_options)

/** NULL options are the defaults. Fails where there is no such target or GPU.
 */
FLASHC_API flashc_error *
flashc_context_create(const flashc_context_options *options,
                      flashc_context **context);
/** Waits for compilations in the background. Kernels live on. */
FLASHC_API void flashc_context_free(flashc_context *context);
/** "sm_90a"; valid as long as the context. "" for NULL. */
FLASHC_API const char *flashc_context_target(const flashc_context *context);

/*===- Descriptions
 * --------------------------------------------------------===*/

typedef enum flashc_dtype {
  FLASHC_F16 = 1,
  FLASHC_BF16 = 2,
  FLASHC_F32 = 3,
  FLASHC_I8 = 4,
  FLASHC_I32 = 5,
  FLASHC_I64 = 6
} flashc_dtype;

#define FLASHC_MAX_RANK 4

/** A tensor that a score function reads. */
typedef struct flashc_capture {
  const char *name;
  /** flashc_dtype. */
  int32_t dtype;
  int32_t rank;
  /** Sizes; 0: known at the launch. */
  int64_t shape[FLASHC_MAX_RANK];
} flashc_capture;

/** Attention: O = softmax(mask(score(scale * Q K^T))) V, and LSE, its
 * log-sum-exp in nats. Rows without a visible key have O = 0 and LSE = -inf. */
typedef struct flashc_attention_spec {
  /** sizeof(flashc_attention_spec). */
  size_t size;
  /** Of Q and K, 1 to 256; of V and O, 0: the same. */
  int32_t head_dim;
  int32_t value_head_dim;
  /** Of Q and of K and V, which the first is a multiple of; 0: known at the
   *  launch. */
  int32_t heads;
  int32_t kv_heads;
  /** flashc_dtype of Q, K, V and O: f16 or bf16; f32 on the CPU; 0: f16. */
  int32_t dtype;
  /** The kernel takes the number of keys of each batch from an i32 array, which
   *  it reads when it runs: see flashc_arguments. */
  int32_t kv_lengths;
  /** The kernel does not write LSE. */
  int32_t no_lse;
  int32_t reserved;
  /** Multiplies Q K^T; 0: 1/sqrt(head_dim). */
  double scale;
  /** none, causal, causal-topleft, window(L,R), window-topleft(L,R), prefix(N)
   *  and key-length, joined by & | ! ( ), -1 for no bound; NULL: none. */
  const char *mask;
  /** A score function as MLIR: the region of attn.forward without its braces,
   *  which begins `^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index`,
   *  goes on with an argument for each capture, and ends in attn.yield. NULL:
   *  none. */
  const char *score;
  const flashc_capture *captures;
  size_t capture_count;
  /** A whole module with one attn.forward, instead of all above. */
  const char *mlir;
  /** The kernel's name in profilers; NULL: attention. */
  const char *name;
  /** Full specialisation: the kernel is for these alone; 0: any. */
  int64_t batch;
  int64_t queries;
  int64_t keys;
  /** Length of the problems that the schedule is chosen for; 0: 4096. Any
   * length runs; lengths up to the next power of two share a kernel. */
  int64_t length;
  /** Bytes that addresses and strides of Q, K, V and O are multiples of: 2, 4,
   * 8 or 16; 0: 16. */
  int32_t alignment;
  /** Ring depth and warps of the schedule; 0: chosen. */
  int32_t stages;
  int32_t warps;
  int32_t reserved2;
  /** auto, paper or QxK such as 128x64; NULL: auto. */
  const char *tiles;
  /** Bytes of on-chip memory of a block; 0: all that there is. */
  int64_t sram;
} flashc_attention_spec;

#define FLASHC_ATTENTION_SPEC_INIT FLASHC_INIT(flashc_attention_spec)

/*===- Kernels
 * -------------------------------------------------------------===*/

/** Told each step of a compilation before it begins: "look up", "lower", "ptx",
 *  "cubin", "load", as number `step` of `steps`. Steps that are not needed are
 *  left out. Must not free the context. */
typedef void (*flashc_progress_function)(void *user, const char *name,
                                         int32_t step, int32_t steps);

/** The kernel of a description: one that the context holds, else from the
 *  cache, else compiled. Threads and processes that ask for one kernel wait for
 *  one compilation. `progress` may be NULL. */
FLASHC_API flashc_error *flashc_compile(flashc_context *context,
                                        const flashc_attention_spec *spec,
                                        flashc_progress_function progress,
                                        void *user, flashc_kernel **kernel);

/** The same in the background. What `spec` points to may go when this returns.
 */
FLASHC_API flashc_error *flashc_compile_async(flashc_context *context,
                                              const flashc_attention_spec *spec,
                                              flashc_progress_function progress,
                                              void *user,
                                              flashc_future **future);
/** 1 if it is done within this time, else 0. */
FLASHC_API int32_t flashc_future_wait(flashc_future *future,
                                      uint32_t milliseconds);
/** Waits until it is done; the same kernel each time. */
FLASHC_API flashc_error *flashc_future_get(flashc_future *future,
                                           flashc_kernel **kernel);
/** The compilation goes on. */
FLASHC_API void flashc_future_free(flashc_future *future);

/** A kernel compiled before: the path of a manifest, with its code beside it,
 * as `flashc --manifest` writes them, or of a folder of them, where the kernel
 *  NAME is NAME.json or NAME.sm_80.json and so on, and the newest target that
 *  runs here is taken. `name` may be NULL. */
FLASHC_API flashc_error *flashc_load(flashc_context *context, const char *path,
                                     const char *name, flashc_kernel **kernel);

/** Its launches must have ended. */
FLASHC_API void flashc_kernel_free(flashc_kernel *kernel);

/** An array on the device, or in this process for the target "cpu". Q, K, V and
 *  O in the order batch, head, length, head dim, whatever lies next to what in
 *  memory: that is in the strides. */
typedef struct flashc_array {
  /** Element 0. */
  void *data;
  /** flashc_dtype. */
  int32_t dtype;
  int32_t rank;
  int64_t shape[FLASHC_MAX_RANK];
  /** In elements; that of the last dimension is 1. */
  int64_t strides[FLASHC_MAX_RANK];
} flashc_array;

typedef struct flashc_arguments {
  /** sizeof(flashc_arguments). */
  size_t size;
  flashc_array query;  /* batch, heads, queries, head dim */
  flashc_array key;    /* batch, kv heads, keys, head dim */
  flashc_array value;  /* batch, kv heads, keys, value head dim */
  flashc_array output; /* batch, heads, queries, value head dim */
  /** f32: batch, heads, queries. If the kernel writes it. */
  flashc_array lse;
  /** i32: batch. If the kernel takes it. Keys at and past a batch's number are
   * not read; a number below 0 is 0, one above `keys` is that. The kernel reads
   * it when it runs: a CUDA graph follows what is there at each replay. */
  flashc_array kv_lengths;
  /** In the order of the description; contiguous. */
  const flashc_array *captures;
  size_t capture_count;
} flashc_arguments;

#define FLASHC_ARGUMENTS_INIT FLASHC_INIT(flashc_arguments)

/** Check the arguments and run. On a device: on `stream` (a CUstream; NULL is
 * the default stream), without waiting, whatever CUDA context is current, and
 * also while the stream is captured. On the CPU: until it is done. */
FLASHC_API flashc_error *flashc_launch(flashc_kernel *kernel, void *stream,
                                       const flashc_arguments *arguments);

/** All pointers are valid as long as the kernel. */
typedef struct flashc_kernel_info {
  /** sizeof(flashc_kernel_info), set by the caller. */
  size_t size;
  const char *name;
  /** "sm_90a". */
  const char *target;
  /** Zero-terminated; "" on the CPU. */
  const char *ptx;
  /** Of `cubin_size` bytes; none where the driver compiles the PTX. */
  const void *cubin;
  size_t cubin_size;
  /** What made the cubin: "ptxas 13.0.88"; "driver" where there is none, "" on
   *  the CPU. */
  const char *assembler;
  /** Where it came from: "compiled", "disk" or "memory". */
  const char *origin;
  /** Parameters, grid rule and all below, as JSON. */
  const char *manifest;
  /** The schedule: rows of a query and of a key block, ring depth, threads. */
  int64_t q_block;
  int64_t kv_block;
  int64_t stages;
  int64_t threads;
  /** Of a block. */
  int64_t shared_bytes;
  /** Of a thread; -1 where nobody has said. */
  int64_t registers;
  int64_t spill_bytes;
} flashc_kernel_info;

#define FLASHC_KERNEL_INFO_INIT FLASHC_INIT(flashc_kernel_info)

FLASHC_API flashc_error *flashc_kernel_get_info(const flashc_kernel *kernel,
                                                flashc_kernel_info *info);

/** A report of what a launch of this size costs by formula: tiles, memory,
 *  operations, waves. The caller frees it with flashc_string_free. */
FLASHC_API flashc_error *flashc_kernel_explain(const flashc_kernel *kernel,
                                               int64_t batch, int64_t heads,
                                               int64_t kv_heads,
                                               int64_t queries, int64_t keys,
                                               char **text);
FLASHC_API void flashc_string_free(char *text);

/*===- Gradients
 * -----------------------------------------------------------===*/

/** The gradients of an attention: some kernels that are launched as one. */
typedef struct flashc_gradients flashc_gradients;

/** What is wanted beside dQ, dK and dV. */
typedef struct flashc_gradient_options {
  /** sizeof(flashc_gradient_options). */
  size_t size;
  /** Every run gives the same bits. Refused on a GPU with gradients of captured
   *  tensors that several blocks add to. The CPU's always do. */
  int32_t deterministic;
  /** A gradient of LSE comes in beside that of O. */
  int32_t lse_gradient;
  /** Numbers of the description's captured tensors (f16, bf16 or f32) whose
   *  gradients are wanted, ascending. */
  const int32_t *captures;
  size_t capture_count;
} flashc_gradient_options;

#define FLASHC_GRADIENT_OPTIONS_INIT FLASHC_INIT(flashc_gradient_options)

/** The gradients of the attention that `spec` describes, as flashc_compile has
 *  its kernel; the score function is differentiated. NULL options are zeros.
 *  Fails, naming the operation, where it has no derivative. */
FLASHC_API flashc_error *flashc_compile_gradients(
    flashc_context *context, const flashc_attention_spec *spec,
    const flashc_gradient_options *options, flashc_progress_function progress,
    void *user, flashc_gradients **gradients);
/** Its launches must have ended. */
FLASHC_API void flashc_gradients_free(flashc_gradients *gradients);

typedef struct flashc_gradient_arguments {
  /** sizeof(flashc_gradient_arguments). */
  size_t size;
  /** Read: what the attention read and wrote, shaped as in flashc_arguments. */
  flashc_array query;
  flashc_array key;
  flashc_array value;
  flashc_array output;
  flashc_array lse;
  /** Read: dO as `output`, and dLSE as `lse` if it was asked for. */
  flashc_array output_gradient;
  flashc_array lse_gradient;
  /** Written: dQ, dK and dV as `query`, `key` and `value`. */
  flashc_array query_gradient;
  flashc_array key_gradient;
  flashc_array value_gradient;
  flashc_array kv_lengths;
  /** In the order of the description; contiguous. */
  const flashc_array *captures;
  size_t capture_count;
  /** Written: for each of the options' captures, one as it is; contiguous. */
  const flashc_array *capture_gradients;
  size_t capture_gradient_count;
  /** Device memory at a multiple of 16 bytes that nobody else uses until the
   *  launch has ended: see flashc_gradients_workspace. */
  void *workspace;
  uint64_t workspace_bytes;
} flashc_gradient_arguments;

#define FLASHC_GRADIENT_ARGUMENTS_INIT FLASHC_INIT(flashc_gradient_arguments)

/** Bytes of workspace that a launch with these arguments takes, of which only
 *  shapes are looked at: linear in the lengths and in the elements of captured
 *  tensors whose gradients are wanted; 0 on the CPU. */
FLASHC_API flashc_error *
flashc_gradients_workspace(const flashc_gradients *gradients,
                           const flashc_gradient_arguments *arguments,
                           uint64_t *bytes);

/** Check the arguments and run, as flashc_launch does. */
FLASHC_API flashc_error *
flashc_launch_gradients(flashc_gradients *gradients, void *stream,
                        const flashc_gradient_arguments *arguments);

/** All pointers are valid as long as the gradients. */
typedef struct flashc_gradients_info {
  /** sizeof(flashc_gradients_info), set by the caller. */
  size_t size;
  /** "sm_90a". */
  const char *target;
  /** Where the first kernel came from: "compiled", "disk" or "memory". */
  const char *origin;
  /** Kernels, workspaces and all that was asked for, as JSON. */
  const char *manifest;
} flashc_gradients_info;

#define FLASHC_GRADIENTS_INFO_INIT FLASHC_INIT(flashc_gradients_info)

FLASHC_API flashc_error *
flashc_gradients_get_info(const flashc_gradients *gradients,
                          flashc_gradients_info *info);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FLASHC_FLASHC_H */
