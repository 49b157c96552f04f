// Grammars of the fuzzer.
#include "fuzz/Generate.h"

#include <fmt/format.h>

using namespace flashc;
using namespace flashc::fuzz;

std::string fuzz::generateMask(Random &random, int depth) {
  auto bound = [&] { return int64_t(random.below(200)) - 1; };
  switch (random.below(depth > 3 ? 6 : 10)) {
  case 0:
    return "causal";
  case 1:
    return "causal-topleft";
  case 2:
    return fmt::format("window({},{})", bound(), bound());
  case 3:
    return fmt::format("window-topleft({},{})", bound(), bound());
  case 4:
    return fmt::format("prefix({})", bound() + 1);
  case 5:
    return random.oneIn(2) ? "key-length" : "none";
  case 6:
    return "!" + generateMask(random, depth + 1);
  case 7:
    return "(" + generateMask(random, depth + 1) + ")";
  default:
    return "(" + generateMask(random, depth + 1) +
           (random.oneIn(2) ? " & " : " | ") + generateMask(random, depth + 1) +
           ")";
  }
}

AttentionSpec fuzz::generateSpec(Random &random) {
  static const std::vector<int64_t> dims = {1,  7,  16,  32,  40,  56,  64,
                                            80, 96, 128, 192, 255, 256, 257};
  static const std::vector<int64_t> heads = {0, 1, 2, 3, 4, 8, 32};
  AttentionSpec spec;
  spec.headDim = random.pick(dims);
  spec.valueHeadDim = random.oneIn(2) ? 0 : random.pick(dims);
  spec.heads = random.pick(heads);
  spec.kvHeads = random.pick(heads);
  spec.dtype = random.pick(std::vector<std::string>{"f16", "bf16", "f32"});
  spec.layout = random.oneIn(2) ? "bshd" : "bhsd";
  if (random.oneIn(3))
    spec.scale =
        random.pick(std::vector<double>{0.125, 1, 1e-20, 1e20, 0, -1, 1e300});
  spec.mask = generateMask(random);
  spec.kvLengths = random.oneIn(2);
  spec.withLse = !random.oneIn(4);
  return spec;
}

CompileOptions fuzz::generateOptions(Random &random) {
  llvm::ArrayRef<llvm::StringRef> archs = knownArchs();
  CompileOptions options;
  options.arch = archs[random.below(archs.size())].str();
  if (random.oneIn(4))
    options.sram = int64_t(random.below(250000)) - 10;
  static const std::vector<std::string> tiles = {
      "auto",   "auto",   "auto",  "auto",    "paper",   "64x64",
      "128x64", "16x16",  "32x48", "256x16",  "8x8",     "0x0",
      "64x",    "-16x16", "axb",   "128x128", "1024x16", "99999999999x16",
      "48x80"};
  options.tiles = random.pick(tiles);
  if (random.oneIn(5))
    options.stages = int64_t(random.below(10)) - 1;
  if (random.oneIn(5))
    options.warps = int64_t(random.below(10)) - 1;
  if (random.oneIn(5))
    options.alignment = random.pick(std::vector<int64_t>{2, 4, 8, 16, 3, -1});
  return options;
}

namespace {
/// Straight-line scalar code over f32, i32 and index values.
class ScoreWriter {
public:
  explicit ScoreWriter(Random &random) : random(random) {}

  std::string write() {
    for (size_t i = 0, n = 1 + random.below(15); i < n; ++i)
      writeOp();
    return body + fmt::format("    attn.yield {} : f32\n", random.pick(floats));
  }

private:
  std::string fresh() { return fmt::format("%x{}", count++); }
  void line(const std::string &name, const std::string &op) {
    body += fmt::format("    {} = {}\n", name, op);
  }
  void writeOp();
  void writeFloat();
  void writeInteger();
  void writeExtract();

  Random &random;
  std::string body;
  int count = 0;
  std::vector<std::string> floats = {"%s"}, integers,
                           indices = {"%b", "%h", "%i", "%j"};
};
} // namespace

void ScoreWriter::writeFloat() {
  static const std::vector<std::string> binary = {
      "arith.addf",     "arith.subf",     "arith.mulf",    "arith.divf",
      "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.remf",
      "math.powf",      "math.atan2",     "math.copysign"};
  static const std::vector<std::string> unary = {
      "math.exp",   "math.exp2",      "math.log",   "math.tanh",  "math.absf",
      "math.sqrt",  "math.rsqrt",     "math.sin",   "math.cos",   "math.erf",
      "math.floor", "math.roundeven", "arith.negf", "math.log1p", "math.expm1",
      "math.cbrt",  "math.atan",      "math.ceil",  "math.sinh"};
  std::string a = random.pick(floats), b = random.pick(floats);
  std::string name = fresh();
  if (random.oneIn(4))
    line(name, fmt::format("arith.constant {} : f32",
                           random.pick(std::vector<std::string>{
                               "0.0", "1.0", "-2.5", "1.0e38", "0xFF800000"})));
  else if (random.oneIn(2))
    line(name, fmt::format("{} {} : f32", random.pick(unary), a));
  else
    line(name, fmt::format("{} {}, {} : f32", random.pick(binary), a, b));
  floats.push_back(name);
}

void ScoreWriter::writeInteger() {
  static const std::vector<std::string> binary = {
      "arith.addi",  "arith.subi",  "arith.muli", "arith.andi", "arith.xori",
      "arith.maxsi", "arith.minui", "arith.shli", "arith.shrsi"};
  static const std::vector<std::string> divisions = {
      "arith.divsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi"};
  bool wide = random.oneIn(2) || integers.empty();
  std::vector<std::string> &list = wide ? indices : integers;
  const char *type = wide ? "index" : "i32";
  std::string a = random.pick(list), b = random.pick(list), name = fresh();
  if (random.oneIn(4)) {
    std::string divisor = fresh();
    line(divisor, fmt::format("arith.constant {} : {}",
                              int64_t(random.below(9)) - 1, type));
    line(name, fmt::format("{} {}, {} : {}", random.pick(divisions), a, divisor,
                           type));
  } else {
    line(name, fmt::format("{} {}, {} : {}", random.pick(binary), a, b, type));
  }
  list.push_back(name);
}

void ScoreWriter::writeExtract() {
  std::string name = fresh();
  if (random.oneIn(2)) {
    line(name, fmt::format("tensor.extract %t[{}, {}] : tensor<?x3xf32>",
                           random.pick(indices), random.pick(indices)));
    floats.push_back(name);
    return;
  }
  line(name, fmt::format("tensor.extract %u[{}] : tensor<5xi32>",
                         random.pick(indices)));
  integers.push_back(name);
}

void ScoreWriter::writeOp() {
  std::string name;
  switch (random.below(8)) {
  case 0:
    return writeInteger();
  case 1:
    return writeExtract();
  case 2:
    name = fresh();
    line(name, "arith.index_cast " + random.pick(indices) + " : index to i32");
    return integers.push_back(name);
  case 3:
    if (integers.empty())
      return writeFloat();
    name = fresh();
    line(name, "arith.sitofp " + random.pick(integers) + " : i32 to f32");
    return floats.push_back(name);
  case 4: {
    std::string condition = fresh();
    line(condition, fmt::format("arith.cmpi {} {}, {} : index",
                                random.oneIn(2) ? "slt" : "eq",
                                random.pick(indices), random.pick(indices)));
    name = fresh();
    line(name, fmt::format("arith.select {}, {}, {} : f32", condition,
                           random.pick(floats), random.pick(floats)));
    return floats.push_back(name);
  }
  default:
    return writeFloat();
  }
}

std::string fuzz::generateScoreModule(Random &random) {
  static const std::vector<std::string> dtypes = {"f16", "bf16", "f32"};
  std::string dtype = random.pick(dtypes);
  std::string q =
      fmt::format("tensor<?x?x?x{}x{}>", 1 + random.below(128), dtype);
  std::string lse = "tensor<?x?x?xf32>";
  return fmt::format(
      "func.func @f(%q: {0}, %k: {0}, %ct: tensor<?x3xf32>, %cu: "
      "tensor<5xi32>) "
      "-> ({0}, {1}) {{\n  %o, %l = attn.forward %q, %k, %k captures(%ct, %cu "
      ": "
      "tensor<?x3xf32>, tensor<5xi32>) layout({3}) : {0}, {0}, {0} -> ({0}, "
      "{1}) "
      "{{\n  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: "
      "tensor<?x3xf32>, %u: tensor<5xi32>):\n{2}  }}\n  return %o, %l : {0}, "
      "{1}\n}}\n",
      q, lse, ScoreWriter(random).write(), random.oneIn(2) ? "bshd" : "bhsd");
}

std::string fuzz::generateNpy(Random &random) {
  static const std::vector<std::string> types = {"<f2", "<f4", "<u2", ">f4",
                                                 "|b1", "<i8", "<c8"};
  std::string header = fmt::format(
      "{{'descr': '{}', 'fortran_order': {}, 'shape': ({}, {}), }}\n",
      random.pick(types), random.oneIn(4) ? "True" : "False", random.below(9),
      random.oneIn(8) ? uint64_t(1) << 62 : random.below(9));
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + std::string(random.below(700), 'x');
}
