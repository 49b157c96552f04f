// Reads the manifest off the IR, level by level: the kernel's argument types
// are the ABI, so they are taken from the kernel and not guessed a second time.
#include "Manifest.h"

#include "flashc/Analysis/Schedule.h"
#include "flashc/Compiler/MaskText.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Warp/IR/TensorMaps.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace flashc;

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether what a row sees, and its scores, are those of any row of any query
/// head with the same Q.
static bool areRowsAlike(attn::ForwardOp op) {
  bool differ = false;
  if (Attribute mask = op.getMask().value_or(Attribute()))
    mask.walk([&](Attribute part) {
      differ |= isa<attn::CausalAttr, attn::WindowAttr>(part);
    });
  if (!op.getScore().empty()) {
    Block &score = op.getScore().front();
    differ |= !score.getArgument(attn::kScoreHead).use_empty() ||
              !score.getArgument(attn::kScoreQuery).use_empty();
  }
  return !differ;
}

llvm::Expected<Manifest> flashc::describeAttn(ModuleOp module) {
  llvm::Expected<AttnFunction> found = findAttention(module);
  if (!found)
    return found.takeError();
  attn::ForwardOp op = found->forward;
  Manifest manifest;
  manifest.headDim = op.getHeadDim();
  manifest.valueHeadDim = op.getValueHeadDim();
  manifest.dtype = typeText(op.getQuery().getType().getElementType());
  manifest.scale = op.getScaleValue();
  manifest.mask = printMask(op.getMask().value_or(Attribute()));
  manifest.layout = attn::stringifyLayout(op.getLayout()).str();
  manifest.rowsAlike = areRowsAlike(op);
  auto add = [&](ParamKind kind, llvm::StringRef name) {
    KernelParam param;
    param.kind = kind;
    param.name = name.str();
    manifest.params.push_back(std::move(param));
  };
  for (ParamKind kind : {ParamKind::Query, ParamKind::Key, ParamKind::Value})
    add(kind, paramKindName(kind));
  if (op.getKvLengths())
    add(ParamKind::KvLengths, paramKindName(ParamKind::KvLengths));
  for (const std::string &name : found->captureNames)
    add(ParamKind::Capture, name);
  add(ParamKind::Output, paramKindName(ParamKind::Output));
  if (found->returnsLse)
    add(ParamKind::Lse, paramKindName(ParamKind::Lse));
  return manifest;
}

static void describeParam(MemRefType type, KernelParam &param) {
  auto number = [](int64_t n) {
    return ShapedType::isDynamic(n) ? KernelParam::kDynamic : n;
  };
  param.elementType = typeText(type.getElementType());
  for (int64_t size : type.getShape())
    param.shape.push_back(number(size));
  if (!type.getLayout().isIdentity())
    for (int64_t stride : type.getStridesAndOffset().first)
      param.strides.push_back(number(stride));
}

/// As convert-warp-to-nvvm has it: the longest piece that cp.async copies.
static constexpr int64_t kDefaultAlignment = 16;

llvm::Error flashc::describeTile(ModuleOp module, const CompileOptions &options,
                                 Manifest &manifest, std::string &name) {
  auto kernels = llvm::to_vector(module.getOps<tile::KernelOp>());
  if (kernels.size() != 1 ||
      kernels[0].getArgumentTypes().size() != manifest.params.size())
    return makeError(
        "the module has {} kernels, but one is compiled at a time; "
        "split the module",
        kernels.size());
  tile::KernelOp kernel = kernels[0];
  name = kernel.getSymName().str();
  for (auto [type, param] :
       llvm::zip_equal(kernel.getArgumentTypes(), manifest.params))
    describeParam(cast<MemRefType>(type), param);
  tile::ScheduleAttr schedule = kernel.getSchedule();
  manifest.qBlock = schedule.getQ();
  manifest.kvBlock = schedule.getKv();
  manifest.stages = schedule.getStages();
  manifest.warps = schedule.getWarps();
  manifest.alignment =
      options.alignment ? options.alignment : kDefaultAlignment;
  return llvm::Error::success();
}

void flashc::describeWarp(ModuleOp module, Manifest &manifest) {
  for (auto kernel : module.getOps<warp::KernelOp>()) {
    manifest.warps = kernel.getWarps();
    manifest.sharedBytes = kernel.getSharedBytes().value_or(0);
    manifest.persistent = kernel.isPersistent();
    manifest.producerWarps = kernel.getAllWarps() - kernel.getWarps();
    for (const warp::TensorMap &map : warp::getTensorMaps(kernel))
      manifest.tensorMaps.push_back({int64_t(map.argument), map.rows});
  }
}

llvm::Expected<ProgramManifest> flashc::describeBackward(ModuleOp module) {
  llvm::Expected<BackwardFunction> found = findBackward(module);
  if (!found)
    return found.takeError();
  attn::BackwardOp op = found->backward;
  ProgramManifest program;
  program.captures = found->captureNames;
  for (Value capture : op.getCaptures())
    program.captureTypes.push_back(
        typeText(cast<ShapedType>(capture.getType()).getElementType()));
  program.gradients.assign(op.getGradients().begin(), op.getGradients().end());
  program.lseGradient = bool(op.getLseGradient());
  program.kvLengths = bool(op.getKvLengths());
  program.deterministic = op.getDeterministic();
  program.headDim = op.getHeadDim();
  program.valueHeadDim = op.getValueHeadDim();
  program.dtype = typeText(op.getQuery().getType().getElementType());
  program.scale = op.getScaleValue();
  program.mask = printMask(op.getMask().value_or(Attribute()));
  program.layout = attn::stringifyLayout(op.getLayout()).str();
  return program;
}

static GridPlace placeOf(ArrayRef<int64_t> place) {
  if (place.empty())
    return {};
  return {place[0], place[1]};
}

void flashc::describeKernels(ModuleOp module, ProgramManifest &program) {
  llvm::StringSet<> seen;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    tile::GridAttr grid = kernel.getGridOrDefault();
    ProgramKernel &description = program.kernels.emplace_back();
    description.name = kernel.getSymName().str();
    description.batch = placeOf(grid.getBatch());
    description.heads = placeOf(grid.getHeads());
    description.blocks = placeOf(grid.getBlocks());
    description.rows = grid.getRows();
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      auto name = kernel.getArgAttrOfType<StringAttr>(i, "tile.argument");
      description.arguments.push_back(name.str());
      KernelParam &param = description.params.emplace_back();
      param.kind = kernel.getArgAttr(i, "tile.output") ? ParamKind::Output
                                                       : ParamKind::Capture;
      param.name = name.str();
      describeParam(cast<MemRefType>(type), param);
      auto sizes = kernel.getArgAttrOfType<ArrayAttr>(i, "tile.workspace");
      bool isZeroed = bool(kernel.getArgAttr(i, "tile.zeroed"));
      if (!sizes && isZeroed && seen.insert(name).second)
        program.zeroedGradients.push_back(
            *llvm::find_if(program.gradients, [&](int64_t capture) {
              return ProgramManifest::gradientOf(capture) == name.getValue();
            }));
      if (!sizes || !seen.insert(name).second)
        continue;
      Workspace &workspace = program.workspaces.emplace_back();
      workspace.name = name.str();
      workspace.elementType = typeText(cast<MemRefType>(type).getElementType());
      for (auto size : sizes.getAsRange<StringAttr>())
        workspace.sizes.push_back(size.str());
      workspace.zeroed = isZeroed;
    }
  }
}

void flashc::describeBlocks(ModuleOp module, const TargetInfo &target,
                            ProgramManifest &program) {
  for (auto [kernel, description] :
       llvm::zip_equal(module.getOps<warp::KernelOp>(), program.kernels)) {
    description.warps = kernel.getWarps();
    description.sharedBytes = kernel.getSharedBytes().value_or(0);
    description.waits = target.hasDependentLaunch;
    description.producerWarps = kernel.getAllWarps() - kernel.getWarps();
    if (kernel.getGroups())
      for (const warp::TensorMap &map : warp::getTensorMaps(kernel))
        description.tensorMaps.push_back({int64_t(map.argument), map.rows});
  }
}

Manifest flashc::describeKernel(const ProgramManifest &program,
                                const ProgramKernel &kernel,
                                const CompileOptions &options) {
  Manifest manifest;
  manifest.params = kernel.params;
  manifest.qBlock = kernel.rows;
  manifest.warps = kernel.warps;
  manifest.producerWarps = kernel.producerWarps;
  manifest.tensorMaps = kernel.tensorMaps;
  manifest.sharedBytes = kernel.sharedBytes;
  manifest.headDim = program.headDim;
  manifest.valueHeadDim = program.valueHeadDim;
  manifest.dtype = program.dtype;
  manifest.alignment =
      options.alignment ? options.alignment : kDefaultAlignment;
  manifest.scale = program.scale;
  manifest.mask = program.mask;
  manifest.layout = program.layout;
  llvm::raw_string_ostream(manifest.program) << program.toJSON();
  return manifest;
}
