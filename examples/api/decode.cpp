// Decoding: one query a step over a cache of keys that grows. On a GPU the
// launch is captured into a CUDA graph once, and each replay follows the number
// of keys in device memory; on the CPU the same arguments are launched again.
#include "gpu.h"

#include <flashc/flashc.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

static const int64_t Heads = 4, Capacity = 4096, Dim = 64;

static void check(int result) {
  if (result == 0)
    return;
  std::fprintf(stderr, "a CUDA call failed with %d\n", result);
  std::exit(1);
}

template <typename T> static T &need(flashc::Expected<T> &value) {
  if (value)
    return *value;
  std::fprintf(stderr, "%s\n", value.error().message().c_str());
  std::exit(1);
}

int main() {
  gpu device;
  bool onGPU = gpu_open(&device);
  flashc::ContextOptions options;
  if (!onGPU)
    options.target = "cpu";
  auto context = flashc::Context::create(options);
  flashc::AttentionSpec spec;
  spec.withHeadDim(Dim)
      .withDType(flashc::DType::BF16)
      .withKvLengths()
      .withoutLse();
  auto compiled = need(context).compile(spec);
  flashc::Kernel kernel = need(compiled);

  // Values of key j are j; queries and keys are zeros, so that O is the mean of
  // the values. Past the keys so far the cache holds NaN.
  std::vector<uint16_t> q(Heads * Dim), k(Heads * Capacity * Dim, 0x7fff), v(k),
      o(q);
  std::vector<int32_t> keys(1);
  auto place = [&](void *host, size_t bytes) {
    uint64_t at = reinterpret_cast<uint64_t>(host);
    if (onGPU) {
      check(device.alloc(&at, bytes));
      check(device.copy_to(at, host, bytes));
    }
    return reinterpret_cast<char *>(at);
  };
  char *dq = place(q.data(), q.size() * 2), *dk = place(k.data(), k.size() * 2),
       *dv = place(v.data(), v.size() * 2),
       *dout = place(o.data(), o.size() * 2), *dkeys = place(keys.data(), 4);
  auto write = [&](char *to, const void *from, size_t bytes) {
    if (onGPU)
      check(device.copy_to(reinterpret_cast<uint64_t>(to), from, bytes));
    else
      std::copy_n(static_cast<const char *>(from), bytes, to);
  };
  flashc::Arguments arguments;
  arguments.query =
      flashc::Array::bhsd(dq, flashc::DType::BF16, 1, Heads, 1, Dim);
  arguments.key =
      flashc::Array::bhsd(dk, flashc::DType::BF16, 1, Heads, Capacity, Dim);
  arguments.value =
      flashc::Array::bhsd(dv, flashc::DType::BF16, 1, Heads, Capacity, Dim);
  arguments.output =
      flashc::Array::bhsd(dout, flashc::DType::BF16, 1, Heads, 1, Dim);
  arguments.kvLengths = flashc::Array::dense(dkeys, flashc::DType::I32, {1});

  void *stream = nullptr, *graph = nullptr, *replay = nullptr;
  auto launch = [&] {
    if (auto error = kernel.launch(stream, arguments)) {
      std::fprintf(stderr, "%s\n", error->message().c_str());
      std::exit(1);
    }
  };
  if (onGPU) {
    keys[0] = 128;
    write(dkeys, keys.data(), 4);
    check(device.stream_create(&stream, 1));
    check(device.begin_capture(stream, 0));
    launch(); // recorded, with no number of keys in it
    check(device.end_capture(stream, &graph));
    check(device.instantiate(&replay, graph, 0));
  }
  int wrong = 0;
  std::vector<uint16_t> row(Dim), zeros(Dim);
  for (int64_t j = 0; j < Capacity; ++j) {
    row.assign(Dim, to_bf16(float(j)));
    for (int64_t h = 0; h < Heads; ++h) {
      write(dk + (h * Capacity + j) * Dim * 2, zeros.data(), Dim * 2);
      write(dv + (h * Capacity + j) * Dim * 2, row.data(), Dim * 2);
    }
    if (j + 1 != 1 && (j + 1) % 64 != 0 && j + 1 != 129)
      continue; // the cache grows by several keys at a step
    keys[0] = int32_t(j + 1);
    write(dkeys, keys.data(), 4);
    if (onGPU) {
      check(device.graph_launch(replay, stream));
      check(device.synchronize(stream));
      check(device.copy_from(o.data(), reinterpret_cast<uint64_t>(dout),
                             o.size() * 2));
    } else {
      launch();
    }
    float mean = float(j) / 2;
    for (uint16_t x : o)
      wrong += !(std::abs(from_bf16(x) - mean) <= 0.01f * mean);
  }
  std::printf("%s: %s of 1 to %d keys, %d wrong numbers\n",
              kernel.info().target,
              onGPU ? "one graph, replays" : "no GPU and so no graph, launches",
              int(Capacity), wrong);
  return wrong != 0;
}
