// Launches of an embedded kernel with tensor maps and a tile counter.
#include "hopper.h"

#include <cstdio>

extern "C" {
extern int fake_capturing, fake_parameters;
extern uint64_t fake_last_parameter;
}

static flashc_embedded_array array(CUdeviceptr at, int64_t heads,
                                   int64_t length) {
  return {at,
          {2, heads, length, 128},
          {heads * length * 128, length * 128, 128, 1}};
}

int main() {
  hopper_kernel kernel;
  if (hopper_load(&kernel))
    return 1;
  flashc_embedded_array q = array(0x10000, 8, 200), k = array(0x20000, 4, 300),
                        v = k, o = q, n = {0x30000, {2}, {1}},
                        lse = {0x40000, {2, 8, 200}, {1600, 200, 1}};
  auto launch = [&] {
    return hopper_launch(&kernel, nullptr, &q, &k, &v, &n, &o, &lse);
  };
  // Five arrays of a pointer and what is dynamic, four maps, the counter.
  fake_parameters = 4 * (1 + 3 + 3) + (1 + 1) + (1 + 3 + 2) + 4 + 1;
  uint64_t counters[3];
  for (int i = 0; i < 3; ++i) {
    fake_capturing = i == 2;
    if (launch())
      return 1;
    counters[i] = fake_last_parameter - kernel.scratch;
  }
  std::printf("counters %d %d %d\n", int(counters[0]), int(counters[1]),
              int(counters[2]));
  q.shape[3] = 64;
  std::printf("a wrong head dim: %d\n", int(launch()));
  q.shape[3] = 128;
  q.data += 2;
  std::printf("an odd address: %d\n", int(launch()));
  q.data -= 2;
  q.shape[2] = o.shape[2] = lse.shape[2] = 0;
  std::printf("no query: %d\n", int(launch()));
  hopper_unload(&kernel);
  return 0;
}
