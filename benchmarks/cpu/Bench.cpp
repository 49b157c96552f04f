// flashc-cpu-bench: the CPU path beside a blocked C++ loop, in one run, on one
// thread and in CPU time, so that other work on the machine shows little. A row
// a shape; GFLOP/s of one core count 4 S^2 d a head (half of it with causal).
#include "Baseline.h"
#include "unittests/TargetCPU/CompileTile.h"

#include "flashc/Reference/Cases.h"

#include <ctime>
#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

namespace {
constexpr int64_t kHeads = 8;

struct Cell {
  Element element;
  int64_t d, s;
  bool causal;
};

/// attn text to a kernel: the tile pipeline is the compiler's own.
std::unique_ptr<CpuKernel> compileCell(const Cell &c) {
  std::string type =
      fmt::format("tensor<?x?x?x{}x{}>", c.d, elementName(c.element).str());
  std::string text =
      fmt::format("func.func @attention(%q: {0}, %k: {0}, %v: {0}) -> {0} {{\n"
                  "  %o, %lse = attn.forward %q, %k, %v {1} layout(bhsd) : "
                  "{0}, {0}, {0} -> ({0}, tensor<?x?x?xf32>)\n"
                  "  return %o : {0}\n}}\n",
                  type, c.causal ? "mask(#attn.causal)" : "");
  return test::compileTile(text, 0, /*fromAttn=*/true);
}

double cpuSeconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

template <typename F> double best(F run) {
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    double start = cpuSeconds();
    run();
    least = std::min(least, cpuSeconds() - start);
  }
  return least;
}

template <typename T>
double timeBaseline(const Cell &c, HostTensor &q, HostTensor &k, HostTensor &v,
                    HostTensor &o) {
  auto pointer = [](HostTensor &t) { return reinterpret_cast<T *>(t.data()); };
  int64_t blocks = (c.s + 63) / 64;
  return best([&] {
    for (int64_t at = 0; at < kHeads * blocks; ++at) {
      int64_t head = at / blocks * c.s * c.d;
      baselineBlock<T>(pointer(q) + head, pointer(k) + head, pointer(v) + head,
                       pointer(o) + head, c.s, c.s, c.d, c.causal, at % blocks);
    }
  });
}

void report(const Cell &c) {
  std::array<int64_t, 4> shape{1, kHeads, c.s, c.d};
  Random random(1);
  auto make = [&] {
    HostTensor tensor = HostTensor::dense(c.element, shape, Layout::BHSD);
    fillNormal(tensor, random);
    return tensor;
  };
  HostTensor q = make(), k = make(), v = make(), o = make();
  double compile = cpuSeconds();
  auto kernel = compileCell(c);
  compile = cpuSeconds() - compile;
  double ours = best([&] {
    llvm::cantFail(kernel->run({test::argument(q), test::argument(k),
                                test::argument(v), test::argument(o)},
                               1));
  });
  double theirs = c.element == Element::F32
                      ? timeBaseline<float>(c, q, k, v, o)
                      : timeBaseline<_Float16>(c, q, k, v, o);
  double flops = 4.0 * kHeads * c.s * c.s * c.d * (c.causal ? 0.5 : 1);
  fmt::print("{:4} d {:3} S {:4} {:6}  flashc {:6.1f} GFLOP/s  blocked C++ "
             "{:6.1f}  ratio {:.2f}  compiled in {:.2f} s\n",
             elementName(c.element).str(), c.d, c.s,
             c.causal ? "causal" : "full", flops / ours * 1e-9,
             flops / theirs * 1e-9, theirs / ours, compile);
}
} // namespace

int main() {
  for (Element element : {Element::F32, Element::F16})
    for (int64_t d : {64, 128})
      for (int64_t s : {1024, 2048})
        for (bool causal : {false, true})
          report({element, d, s, causal});
}
