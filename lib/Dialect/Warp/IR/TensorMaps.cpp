// Which boxes of which arguments a kernel with roles copies.
#include "flashc/Dialect/Warp/IR/TensorMaps.h"

using namespace mlir;

namespace flashc::warp {

SmallVector<TensorMap> getTensorMaps(KernelOp kernel) {
  SmallVector<TensorMap> maps;
  auto add = [&](Value view, int64_t rows) {
    TensorMap map{cast<BlockArgument>(view).getArgNumber(), rows};
    if (!llvm::is_contained(maps, map))
      maps.push_back(map);
  };
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      add(send.getView(),
          send.getRing().getType().getBufferType().getPartRows());
    else if (auto emit = dyn_cast<EmitOp>(op))
      add(emit.getView(), emit.getBuffer().getType().getPartRows());
  });
  return maps;
}

size_t getTensorMapIndex(ArrayRef<TensorMap> maps, Value view, int64_t rows) {
  TensorMap map{cast<BlockArgument>(view).getArgNumber(), rows};
  return llvm::find(maps, map) - maps.begin();
}

} // namespace flashc::warp
