// Causal attention in C++: on the GPU if there is one, else on the CPU.
#include "gpu.h"

#include <flashc/flashc.hpp>

#include <cstdio>
#include <cstdlib>

static const int64_t Batch = 1, Heads = 8, KvHeads = 2, Length = 512, Dim = 64;

static int fail(const flashc::Error &error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

int main() {
  gpu device;
  bool onGPU = gpu_open(&device);
  flashc::ContextOptions options;
  if (!onGPU)
    options.target = "cpu";
  auto context = flashc::Context::create(options);
  if (!context)
    return fail(context.error());
  flashc::AttentionSpec spec;
  spec.withHeadDim(Dim)
      .withDType(flashc::DType::BF16)
      .withMask("causal")
      .withoutLse();
  auto kernel = context->compile(spec);
  if (!kernel)
    return fail(kernel.error());

  // Queries and keys of zeros: each row of O is the mean of the values so far.
  std::vector<uint16_t> q(Batch * Length * Heads * Dim),
      k(Batch * Length * KvHeads * Dim), v(k), o(q);
  for (int64_t j = 0; j < Length; ++j)
    for (int64_t n = 0; n < KvHeads * Dim; ++n)
      v[j * KvHeads * Dim + n] = to_bf16(float(j % 2));
  auto array = [&](std::vector<uint16_t> &host, int64_t heads) {
    uint64_t at = reinterpret_cast<uint64_t>(host.data());
    if (onGPU && (device.alloc(&at, host.size() * 2) ||
                  device.copy_to(at, host.data(), host.size() * 2)))
      std::abort();
    return flashc::Array::bshd(reinterpret_cast<void *>(at),
                               flashc::DType::BF16, Batch, Length, heads, Dim);
  };
  flashc::Arguments arguments;
  arguments.query = array(q, Heads);
  arguments.key = array(k, KvHeads);
  arguments.value = array(v, KvHeads);
  arguments.output = array(o, Heads);
  if (auto error = kernel->launch(nullptr, arguments))
    return fail(*error);
  if (onGPU && device.copy_from(
                   o.data(), reinterpret_cast<uint64_t>(arguments.output.data),
                   o.size() * 2))
    return fail(flashc::Error("the kernel failed"));
  std::printf("%s: row 0 is %g, row 1 is %g, row %d is %g\n",
              kernel->info().target, from_bf16(o[0]), from_bf16(o[Heads * Dim]),
              int(Length - 1), from_bf16(o[(Length - 1) * Heads * Dim]));
  return 0;
}
