// flashc-api-fuzz: the C API of libflashc.so, misused at random. Descriptions
// of values that mean nothing must be refused with a text or give a kernel;
// launches with one thing wrong must be refused. Nothing may crash. Case number
// N of seed S is the same everywhere: --seed=S --first=N --runs=1 repeats it.
#include "fuzz/Random.h"
#include "unittests/Api/Sized.h"

#include "flashc/flashc.h"

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using flashc::fuzz::Random;
using flashc::test::sized;

namespace {
struct Options {
  uint64_t seconds = 60, seed = 1, first = 0, runs = 0;
};

struct Counts {
  uint64_t cases = 0, refused = 0, kernels = 0, launches = 0;
};

/// Takes the text; an error without one is a failure of its own.
bool isRefused(flashc_error *error, std::string &problem) {
  if (!error)
    return false;
  if (!*flashc_error_message(error))
    problem = "an error without a text";
  flashc_error_free(error);
  return true;
}

int32_t anyInt(Random &random) {
  static const std::vector<int32_t> values = {
      0,  1,   2,   3,   4,    7,  8,  16,      33,
      64, 128, 256, 257, 1000, -1, -2, INT_MAX, INT_MIN};
  return random.pick(values);
}

int64_t anyLong(Random &random) {
  static const std::vector<int64_t> values = {LLONG_MAX, LLONG_MIN, 1LL << 31,
                                              1LL << 32, -1LL << 31};
  return random.oneIn(4) ? random.pick(values) : anyInt(random);
}

const char *anyText(Random &random) {
  static const std::vector<const char *> texts = {
      nullptr,
      "",
      "none",
      "causal",
      "causal & window(3,-1)",
      "causal &",
      "window(99999999999999999999,0)",
      "prefix(-1)",
      "!(((",
      "key-length",
      "auto",
      "paper",
      "16x16",
      "0x0",
      "128x",
      "\xff\xfe",
      "%s%n",
      "attention",
      "^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):\n"
      "attn.yield %s : f32",
      "}} module {",
      "func.func @f() { return }"};
  return random.pick(texts);
}

/// Zeros for a struct whose size says more than it is: as many bytes as the
/// library takes for a later version's, which it looks at.
using Behind = char[1 << 16];

/// A description with a few fields set to anything.
class AnySpec {
public:
  explicit AnySpec(Random &random) {
    spec = sized<flashc_attention_spec>();
    spec.head_dim = 8;
    spec.dtype = FLASHC_F32;
    for (size_t n = 1 + random.below(4); n > 0; --n)
      change(random);
  }
  flashc_attention_spec spec;
  Behind behind = {};

private:
  void change(Random &random) {
    int32_t *ints[] = {&spec.head_dim, &spec.value_head_dim, &spec.heads,
                       &spec.kv_heads, &spec.dtype,          &spec.kv_lengths,
                       &spec.no_lse,   &spec.alignment,      &spec.stages,
                       &spec.warps,    &spec.reserved};
    int64_t *longs[] = {&spec.batch, &spec.queries, &spec.keys, &spec.length,
                        &spec.sram};
    const char **texts[] = {&spec.mask, &spec.score, &spec.mlir, &spec.name,
                            &spec.tiles};
    switch (random.below(6)) {
    case 0:
    case 1:
      *ints[random.below(std::size(ints))] = anyInt(random);
      break;
    case 2:
      *longs[random.below(std::size(longs))] = anyLong(random);
      break;
    case 3:
      *texts[random.below(std::size(texts))] = anyText(random);
      break;
    case 4:
      spec.scale = random.oneIn(2) ? -1.0 : 1e300 * 1e300;
      break;
    default:
      capture.name = anyText(random);
      capture.dtype = anyInt(random);
      capture.rank = anyInt(random);
      for (int64_t &size : capture.shape)
        size = anyLong(random);
      spec.captures = random.oneIn(4) ? nullptr : &capture;
      spec.capture_count = 1;
    }
  }
  flashc_capture capture = {};
};

class Fuzzer {
public:
  Fuzzer() {
    auto options = sized<flashc_context_options>();
    options.cache_dir = "";
    options.target = "cpu";
    options.threads = 1;
    must(flashc_context_create(&options, &cpu));
    options.target = "sm_80";
    options.device = -1;
    options.assembler = FLASHC_ASSEMBLER_DRIVER;
    must(flashc_context_create(&options, &gpu));
    auto spec = sized<flashc_attention_spec>();
    spec.head_dim = 8;
    spec.dtype = FLASHC_F32;
    must(flashc_compile(cpu, &spec, nullptr, nullptr, &kernel));
    must(flashc_compile_gradients(cpu, &spec, nullptr, nullptr, nullptr,
                                  &gradients));
  }
  ~Fuzzer() {
    flashc_kernel_free(kernel);
    flashc_gradients_free(gradients);
    flashc_context_free(cpu);
    flashc_context_free(gpu);
  }

  /// What is wrong; empty if nothing is.
  std::string runCase(Random random) {
    ++counts.cases;
    std::string problem;
    if (random.oneIn(4))
      misuseLaunchOfGradients(random, problem);
    else if (random.oneIn(2))
      misuseLaunch(random, problem);
    else if (random.oneIn(4))
      misuseCompileOfGradients(random, problem);
    else
      misuseCompile(random, problem);
    return problem;
  }
  Counts counts;

private:
  static void must(flashc_error *error) {
    if (!error)
      return;
    std::fprintf(stderr, "%s\n", flashc_error_message(error));
    std::exit(1);
  }

  void misuseCompile(Random &random, std::string &problem) {
    AnySpec any(random);
    if (random.oneIn(8))
      any.spec.size = random.next() >> random.below(64);
    flashc_kernel *made = nullptr;
    if (isRefused(flashc_compile(random.oneIn(2) ? cpu : gpu,
                                 random.oneIn(50) ? nullptr : &any.spec,
                                 nullptr, nullptr, &made),
                  problem)) {
      ++counts.refused;
      return;
    }
    ++counts.kernels;
    auto info = sized<flashc_kernel_info>();
    char *text = nullptr;
    if (isRefused(flashc_kernel_get_info(made, &info), problem) || !info.name)
      problem = "a kernel that says nothing of itself";
    if (!isRefused(flashc_kernel_explain(made, anyInt(random), 1, 1, 16,
                                         random.below(64), &text),
                   problem))
      flashc_string_free(text);
    flashc_kernel_free(made);
  }

  void misuseCompileOfGradients(Random &random, std::string &problem) {
    AnySpec any(random);
    struct {
      flashc_gradient_options given = sized<flashc_gradient_options>();
      Behind behind = {};
    } room;
    flashc_gradient_options &options = room.given;
    options.deterministic = anyInt(random);
    options.lse_gradient = anyInt(random);
    int32_t captures[] = {anyInt(random), anyInt(random)};
    if (random.oneIn(2)) {
      options.captures = random.oneIn(8) ? nullptr : captures;
      options.capture_count = random.below(3);
    }
    if (random.oneIn(8))
      options.size = random.next() >> random.below(64);
    flashc_gradients *made = nullptr;
    if (isRefused(
            flashc_compile_gradients(random.oneIn(2) ? cpu : gpu,
                                     random.oneIn(50) ? nullptr : &any.spec,
                                     random.oneIn(4) ? nullptr : &options,
                                     nullptr, nullptr, &made),
            problem)) {
      ++counts.refused;
      return;
    }
    ++counts.kernels;
    auto info = sized<flashc_gradients_info>();
    if (isRefused(flashc_gradients_get_info(made, &info), problem) ||
        !info.manifest)
      problem = "gradients that say nothing of themselves";
    flashc_gradients_free(made);
  }

  flashc_array array() {
    flashc_array a = {};
    a.data = data;
    a.dtype = FLASHC_F32;
    a.rank = 4;
    int64_t shape[] = {2, 3, 4, 8}, strides[] = {96, 32, 8, 1};
    std::memcpy(a.shape, shape, sizeof shape);
    std::memcpy(a.strides, strides, sizeof strides);
    return a;
  }

  flashc_array rowArray() {
    flashc_array a = array();
    a.rank = 3;
    int64_t dense[] = {12, 4, 1};
    std::memcpy(a.strides, dense, sizeof dense);
    return a;
  }

  /// One thing is wrong with an array.
  void spoil(flashc_array &one, Random &random) {
    switch (random.below(7)) {
    case 0:
      one.rank = anyInt(random) | 1 << 10;
      break;
    case 1:
      one.dtype = anyInt(random) | 16;
      break;
    case 2:
      one.data = nullptr;
      break;
    case 3:
      one.data = reinterpret_cast<char *>(data) + 1 + random.below(3);
      break;
    case 4:
      one.shape[random.below(4)] = -1 - int64_t(random.next() >> 2);
      break;
    case 5:
      one.shape[random.below(2)] += 5;
      break;
    default:
      one.strides[3] = anyLong(random) | 2;
    }
  }

  void misuseLaunchOfGradients(Random &random, std::string &problem) {
    auto a = sized<flashc_gradient_arguments>();
    flashc_array *arrays[] = {&a.query,           &a.key,
                              &a.value,           &a.output,
                              &a.output_gradient, &a.query_gradient,
                              &a.key_gradient,    &a.value_gradient};
    for (flashc_array *one : arrays)
      *one = array();
    a.lse = rowArray();
    switch (random.below(9)) {
    case 0:
      a.capture_count = random.next() | 1;
      break;
    case 1:
      a.capture_gradient_count = random.next() | 1;
      break;
    case 2:
      a.size = random.oneIn(2) ? random.below(sizeof a) : ~random.below(99);
      break;
    case 3:
      a.lse.rank = 4;
      break;
    default:
      spoil(*arrays[random.below(std::size(arrays))], random);
    }
    ++counts.launches;
    if (!isRefused(flashc_launch_gradients(gradients, nullptr, &a), problem))
      problem = "a launch of gradients with wrong arguments is not refused";
  }

  /// One thing is wrong with the arguments.
  void misuseLaunch(Random &random, std::string &problem) {
    auto a = sized<flashc_arguments>();
    a.query = a.key = a.value = a.output = array();
    a.lse = rowArray();
    flashc_array *arrays[] = {&a.query, &a.key, &a.value, &a.output};
    switch (random.below(9)) {
    case 0:
      a.capture_count = random.next() | 1;
      break;
    case 1:
      a.size = random.oneIn(2) ? random.below(sizeof a) : ~random.below(99);
      break;
    default:
      spoil(*arrays[random.below(4)], random);
    }
    ++counts.launches;
    if (!isRefused(flashc_launch(kernel, nullptr, &a), problem))
      problem = "a launch with wrong arguments is not refused";
  }

  flashc_context *cpu = nullptr, *gpu = nullptr;
  flashc_kernel *kernel = nullptr;
  flashc_gradients *gradients = nullptr;
  float data[2 * 3 * 4 * 8] = {};
};

Options parse(int argc, char **argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    unsigned long long value = 0;
    if (std::sscanf(argv[n], "--seconds=%llu", &value) == 1)
      options.seconds = value;
    else if (std::sscanf(argv[n], "--seed=%llu", &value) == 1)
      options.seed = value;
    else if (std::sscanf(argv[n], "--first=%llu", &value) == 1)
      options.first = value;
    else if (std::sscanf(argv[n], "--runs=%llu", &value) == 1)
      options.runs = value;
    else
      std::exit((std::fprintf(stderr, "%s is not known\n", argv[n]), 1));
  }
  return options;
}
} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  Fuzzer fuzzer;
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::seconds(options.seconds);
  for (uint64_t n = options.first;
       Clock::now() < end &&
       (!options.runs || n < options.first + options.runs);
       ++n) {
    // The last one is seen after a crash.
    std::fprintf(stderr, "\rcase %llu of seed %llu",
                 static_cast<unsigned long long>(n),
                 static_cast<unsigned long long>(options.seed));
    std::string problem = fuzzer.runCase(Random(options.seed * 1000003 + n));
    if (!problem.empty()) {
      std::printf("\ncase %llu: %s\n", static_cast<unsigned long long>(n),
                  problem.c_str());
      return 1;
    }
  }
  const Counts &c = fuzzer.counts;
  std::printf(
      "\n%llu cases, %llu refused, %llu kernels, %llu launches, no crash\n",
      static_cast<unsigned long long>(c.cases),
      static_cast<unsigned long long>(c.refused),
      static_cast<unsigned long long>(c.kernels),
      static_cast<unsigned long long>(c.launches));
  return 0;
}
