/* The same in C, with a window and what the kernel says of itself. */
#include "gpu.h"

#include <flashc/flashc.h>

#include <stdio.h>
#include <stdlib.h>

enum { Heads = 4, Length = 256, Dim = 64, Elements = Heads * Length * Dim };

static void check(flashc_error *error) {
  if (!error)
    return;
  fprintf(stderr, "%s\n", flashc_error_message(error));
  exit(1);
}

static flashc_array bhsd(void *data) {
  flashc_array a = {.data = data,
                    .dtype = FLASHC_BF16,
                    .rank = 4,
                    .shape = {1, Heads, Length, Dim},
                    .strides = {Elements, Length * Dim, Dim, 1}};
  return a;
}

int main(void) {
  static uint16_t q[Elements], k[Elements], v[Elements], o[Elements];
  uint16_t *hosts[] = {q, k, v, o};
  void *arrays[4];
  gpu device;
  int on_gpu = gpu_open(&device), n;
  flashc_context_options options = FLASHC_CONTEXT_OPTIONS_INIT;
  flashc_attention_spec spec = FLASHC_ATTENTION_SPEC_INIT;
  flashc_arguments arguments = FLASHC_ARGUMENTS_INIT;
  flashc_kernel_info info = FLASHC_KERNEL_INFO_INIT;
  flashc_context *context;
  flashc_kernel *kernel;

  if (!on_gpu)
    options.target = "cpu";
  check(flashc_context_create(&options, &context));
  spec.head_dim = Dim;
  spec.dtype = FLASHC_BF16;
  spec.mask = "window(1,0)"; /* a key and the one before it */
  spec.no_lse = 1;
  check(flashc_compile(context, &spec, NULL, NULL, &kernel));
  check(flashc_kernel_get_info(kernel, &info));
  printf("%s for %s: blocks of %d queries and %d keys, %d bytes of shared memory, made by %s\n", info.name,
         info.target, (int)info.q_block, (int)info.kv_block, (int)info.shared_bytes,
         *info.assembler ? info.assembler : "LLVM");

  for (n = 0; n < Elements; ++n)
    v[n] = to_bf16((float)(n / Dim % Length));
  for (n = 0; n < 4; ++n) {
    uint64_t at = (uint64_t)(uintptr_t)hosts[n];
    if (on_gpu && (device.alloc(&at, sizeof q) || device.copy_to(at, hosts[n], sizeof q)))
      return 1;
    arrays[n] = (void *)(uintptr_t)at;
  }
  arguments.query = bhsd(arrays[0]);
  arguments.key = bhsd(arrays[1]);
  arguments.value = bhsd(arrays[2]);
  arguments.output = bhsd(arrays[3]);
  check(flashc_launch(kernel, NULL, &arguments));
  if (on_gpu && device.copy_from(o, (uint64_t)(uintptr_t)arrays[3], sizeof o))
    return 1;
  printf("rows 0, 1 and 100: %g, %g, %g\n", from_bf16(o[0]), from_bf16(o[Dim]), from_bf16(o[100 * Dim]));
  flashc_kernel_free(kernel);
  flashc_context_free(context);
  return 0;
}
