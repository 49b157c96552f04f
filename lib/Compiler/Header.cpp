// A kernel as a C header: after the compiler, in: a KernelImage; out: text. The
// launch is that of lib/Runtime, written out for one manifest.
#include "flashc/Compiler/Header.h"

#include "HeaderText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <fmt/format.h>
#include <numeric>
#include <set>

using namespace flashc;

namespace {
int64_t bytesOf(llvm::StringRef elementType) {
  return llvm::StringSwitch<int64_t>(elementType)
      .Cases({"f16", "bf16", "i16"}, 2)
      .Cases({"f32", "i32"}, 4)
      .Cases({"f64", "i64"}, 8)
      .Default(1);
}

/// Writes one header.
class HeaderWriter {
public:
  explicit HeaderWriter(const KernelImage &image)
      : image(image), m(image.manifest), name(image.name) {
    std::set<std::string> used;
    for (const KernelParam &param : m.params)
      names.push_back(cName(param.name, used));
  }
  std::string write();

private:
  static std::string cName(const std::string &name,
                           std::set<std::string> &used);
  void bytes(const char *what, const std::string &content);
  void load();
  void launch();
  void checks();
  void checkArray(size_t i);
  void parameters();
  void grid();
  bool needsScratch() const { return m.persistent || !m.tensorMaps.empty(); }
  template <typename... Args>
  void line(fmt::format_string<Args...> text, Args &&...args) {
    out += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }

  const KernelImage &image;
  const Manifest &m;
  const std::string &name;
  std::vector<std::string> names; // of params, as C spells them
  std::string out;
};
} // namespace

std::string HeaderWriter::cName(const std::string &name,
                                std::set<std::string> &used) {
  std::string out = "a_";
  for (char c : name)
    out += llvm::isAlnum(c) ? c : '_';
  while (!used.insert(out).second)
    out += "_";
  return out;
}

void HeaderWriter::bytes(const char *what, const std::string &content) {
  line("static const unsigned char {}_{}[] = {{", name, what);
  std::string row;
  for (unsigned char byte : content) {
    row += std::to_string(byte) + ",";
    if (row.size() > 110) {
      line("{}", row);
      row.clear();
    }
  }
  line("{}0}};\n", row); // PTX ends in zero
}

void HeaderWriter::load() {
  line("typedef struct {}_kernel {{\n  CUmodule module;\n  CUfunction "
       "function;\n  int multiprocessors;\n  CUdeviceptr scratch;\n  uint32_t "
       "next[2];\n}} {}_kernel;\n",
       name, name);
  line("static inline void {0}_unload({0}_kernel *kernel) {{\n  if "
       "(kernel->module)\n    cuModuleUnload(kernel->module);\n  if "
       "(kernel->scratch)\n    cuMemFree(kernel->scratch);\n  "
       "memset(kernel, 0, sizeof *kernel);\n}}\n",
       name);
  line("/* Load into the current context; not while a stream is captured. */");
  line("static inline CUresult {0}_load({0}_kernel *kernel) {{", name);
  line("  CUdevice device;\n  CUresult r;\n  memset(kernel, 0, sizeof "
       "*kernel);");
  line("  if ((r = cuCtxGetDevice(&device)) != CUDA_SUCCESS)\n    return r;");
  line("  if ((r = cuDeviceGetAttribute(&kernel->multiprocessors, "
       "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device)) != "
       "CUDA_SUCCESS)\n    return r;");
  line("  r = CUDA_ERROR_NO_BINARY_FOR_GPU;");
  for (auto [what, code] :
       {std::pair("cubin", &image.cubin), {"ptx", &image.ptx}})
    if (!code->empty())
      line("  if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)\n    r = "
           "cuModuleLoadData(&kernel->module, {}_{});",
           name, what);
  line("  if (r == CUDA_SUCCESS)\n    r = "
       "cuModuleGetFunction(&kernel->function, kernel->module, \"{}\");",
       name);
  if (m.sharedBytes > 0)
    line("  if (r == CUDA_SUCCESS)\n    r = "
         "cuFuncSetAttribute(kernel->function, "
         "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {});",
         m.sharedBytes);
  if (needsScratch())
    line("  if (r == CUDA_SUCCESS)\n    r = "
         "flashc_embedded_scratch(&kernel->scratch);");
  line("  if (r != CUDA_SUCCESS)\n    {}_unload(kernel);\n  return r;\n}}\n",
       name);
}

void HeaderWriter::checkArray(size_t i) {
  const KernelParam &param = m.params[i];
  std::string bad = "    return CUDA_ERROR_INVALID_VALUE;";
  bool strided = !param.strides.empty();
  for (size_t n = 0; n < param.rank(); ++n) {
    line("  if ({0}->shape[{1}] < 0 || {0}->shape[{1}] > 0x7fffffff)\n{2}",
         names[i], n, bad);
    if (param.shape[n] != KernelParam::kDynamic)
      line("  if ({}->shape[{}] != {})\n{}", names[i], n, param.shape[n], bad);
    if (strided && param.strides[n] != KernelParam::kDynamic)
      line("  if ({0}->shape[{1}] > 1 && {0}->strides[{1}] != {2})\n{3}",
           names[i], n, param.strides[n], bad);
  }
  int64_t bytes = bytesOf(param.elementType);
  if (param.rank() == 4 && strided)
    line("  if (!flashc_embedded_empty({0}) && !flashc_embedded_aligned({0}, "
         "{1}, {2}))\n{3}",
         names[i], std::gcd(m.alignment, param.shape.back() * bytes), bytes,
         bad);
}

void HeaderWriter::checks() {
  for (size_t i = 0; i < m.params.size(); ++i)
    checkArray(i);
  auto nameOf = [&](ParamKind kind) -> std::string {
    const KernelParam *param = m.find(kind);
    return param ? names[param - m.params.data()] : "";
  };
  std::string q = nameOf(ParamKind::Query), k = nameOf(ParamKind::Key);
  auto same = [&](const std::string &a, int i, const std::string &b, int j) {
    if (!a.empty() && !b.empty())
      line("  if ({}->shape[{}] != {}->shape[{}])\n    return "
           "CUDA_ERROR_INVALID_VALUE;",
           a, i, b, j);
  };
  same(k, 0, q, 0);
  if (!k.empty())
    line("  if ({1}->shape[1] == 0 ? {0}->shape[1] != 0 : {0}->shape[1] % "
         "{1}->shape[1] != 0)\n    return CUDA_ERROR_INVALID_VALUE;",
         q, k);
  for (int n : {0, 1, 2}) {
    same(nameOf(ParamKind::Value), n, k, n);
    same(nameOf(ParamKind::Output), n, q, n);
    same(nameOf(ParamKind::Lse), n, q, n);
  }
  same(nameOf(ParamKind::KvLengths), 0, q, 0);
}

/// Variables of the launch and the list of their addresses.
void HeaderWriter::parameters() {
  std::string list;
  auto add = [&](const std::string &variable) {
    list += (list.empty() ? "&" : ", &") + variable;
  };
  for (auto [i, param] : llvm::enumerate(m.params)) {
    std::string data = fmt::format("p{}", i);
    line("  CUdeviceptr {} = {}->data;", data, names[i]);
    add(data);
    for (size_t n = 0; n < param.rank(); ++n)
      if (param.shape[n] == KernelParam::kDynamic) {
        std::string size = fmt::format("p{}_size{}", i, n);
        line("  int32_t {} = (int32_t){}->shape[{}];", size, names[i], n);
        add(size);
      }
    for (size_t n = 0; n < param.strides.size(); ++n)
      if (param.strides[n] == KernelParam::kDynamic) {
        std::string stride = fmt::format("p{}_stride{}", i, n);
        line("  int64_t {} = {}->strides[{}];", stride, names[i], n);
        add(stride);
      }
  }
  for (size_t i = 0; i < m.tensorMaps.size(); ++i)
    add(fmt::format("maps[{}]", i));
  if (m.persistent)
    add("counter");
  if (!m.tensorMaps.empty())
    line("  CUtensorMap maps[{}];", m.tensorMaps.size());
  if (m.persistent)
    line("  CUdeviceptr counter;");
  line("  void *params[] = {{{}}};\n  int64_t tiles;\n  CUresult r;", list);
}

void HeaderWriter::grid() {
  std::string q = names[m.find(ParamKind::Query) - m.params.data()];
  line("  tiles = {0}->shape[0] * {0}->shape[1];", q);
  line("  if (tiles == 0 || {0}->shape[2] == 0)\n    return CUDA_SUCCESS;", q);
  line("  if (tiles > 0x7fffffff / (({0}->shape[2] + {1}) / {2}))\n    return "
       "CUDA_ERROR_INVALID_VALUE;",
       q, m.qBlock - 1, m.qBlock);
  line("  tiles *= ({}->shape[2] + {}) / {};", q, m.qBlock - 1, m.qBlock);
  if (m.persistent)
    line("  if (tiles > kernel->multiprocessors)\n    tiles = "
         "kernel->multiprocessors;");
}

void HeaderWriter::launch() {
  line(
      "/* Check the arrays and launch on `stream`, without waiting. Sizes and "
      "strides that\n   the kernel does not take, or arrays that do not belong "
      "together:\n   CUDA_ERROR_INVALID_VALUE. */");
  std::string arguments;
  for (const std::string &array : names)
    arguments += ",\n    const flashc_embedded_array *" + array;
  line("static inline CUresult {0}_launch({0}_kernel *kernel, CUstream "
       "stream{1}) {{",
       name, arguments);
  parameters();
  checks();
  grid();
  line("  r = CUDA_SUCCESS;");
  size_t zeros = 16 * (4096 + 65536);
  for (auto [i, map] : llvm::enumerate(m.tensorMaps))
    line("  if ((r = flashc_embedded_map(&maps[{}], {}, {}, {}, "
         "kernel->scratch + {})) != CUDA_SUCCESS)\n    return r;",
         i, names[map.param],
         m.params[map.param].elementType == "bf16"
             ? "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16"
             : "CU_TENSOR_MAP_DATA_TYPE_FLOAT16",
         map.rows, zeros);
  if (m.persistent)
    line("  counter = flashc_embedded_counter(kernel->scratch, kernel->next, "
         "stream);");
  line("  if (r == CUDA_SUCCESS)\n    r = cuLaunchKernel(kernel->function, "
       "(unsigned)tiles, 1, 1, {}, 1, 1, {}, stream, params, NULL);\n  return "
       "r;\n}}\n",
       m.threads(), m.sharedBytes);
}

std::string HeaderWriter::write() {
  line(
      "/* Kernel '{}' for {}, made by flashc: {} attention, head dim {}, value "
      "head dim {}, mask {}.\n   {}_load, {}_launch, {}_unload; needs the CUDA "
      "driver alone. */",
      name, image.arch, m.dtype, m.headDim, m.valueHeadDim, m.mask, name, name,
      name);
  line("#ifndef FLASHC_EMBEDDED_{0}\n#define FLASHC_EMBEDDED_{0}\n", name);
  line("#include <cuda.h>\n#include <stddef.h>\n#include <stdint.h>\n#include "
       "<string.h>");
  out += kHeaderCommon;
  out += "\n";
  if (!image.cubin.empty())
    bytes("cubin", image.cubin);
  if (!image.ptx.empty())
    bytes("ptx", image.ptx);
  load();
  launch();
  line("#endif");
  return std::move(out);
}

std::string flashc::emitHeader(const KernelImage &image) {
  return HeaderWriter(image).write();
}
