/* The C API from C: causal attention of two queries on the CPU. */
#include "FromC.h"

#include "flashc/flashc.h"

#include <stdio.h>
#include <string.h>

enum { Dim = 4, Length = 2 };

static flashc_array array(float *data) {
  flashc_array a = {.data = data,
                    .dtype = FLASHC_F32,
                    .rank = 4,
                    .shape = {1, 1, Length, Dim},
                    .strides = {Length * Dim, Length * Dim, Dim, 1}};
  return a;
}

static int failed(flashc_error *error) {
  if (!error)
    return 0;
  printf("%s\n", flashc_error_message(error));
  flashc_error_free(error);
  return 1;
}

int attention_from_c(float *output) {
  flashc_context_options options = FLASHC_CONTEXT_OPTIONS_INIT;
  flashc_attention_spec spec = FLASHC_ATTENTION_SPEC_INIT;
  flashc_arguments arguments = FLASHC_ARGUMENTS_INIT;
  flashc_context *context = NULL;
  flashc_kernel *kernel = NULL;
  float q[Length * Dim] = {0}, k[Length * Dim] = {0};
  float v[Length * Dim] = {1, 1, 1, 1, 3, 3, 3, 3};
  int wrong = 0;
  options.target = "cpu";
  spec.head_dim = Dim;
  spec.dtype = FLASHC_F32;
  spec.mask = "causal";
  spec.no_lse = 1;
  if (failed(flashc_context_create(&options, &context)))
    return 1;
  wrong = failed(flashc_compile(context, &spec, NULL, NULL, &kernel));
  if (!wrong) {
    arguments.query = array(q);
    arguments.key = array(k);
    arguments.value = array(v);
    arguments.output = array(output);
    wrong = failed(flashc_launch(kernel, NULL, &arguments));
  }
  flashc_kernel_free(kernel);
  flashc_context_free(context);
  return wrong;
}
