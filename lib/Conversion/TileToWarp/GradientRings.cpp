// The main kernel of a backward whose warps have roles, of
// convert-tile-to-warp: the rings between its roles.
#include "GradientConverter.h"

#include "flashc/Dialect/Tile/IR/Redo.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {

/// Slots of dS, of P between groups, and of sums on their way out.
static constexpr int64_t kScoreSlots = 2, kProbSlots = 2, kSumSlots = 2;
/// Registers of a reducer's thread from which on products of 64 columns fit.
static constexpr int64_t kWideReducer = 72;

Value GradientConverter::createRing(Location loc, RankedTensorType tile,
                                    int64_t depth, int64_t parts,
                                    int64_t values) {
  int64_t shape[] = {tile.getDimSize(0),
                     int64_t(llvm::alignTo(tile.getDimSize(1), kSegment))};
  auto type =
      warp::RingType::get(builder.getContext(), shape, tile.getElementType(),
                          kSegment, depth, parts, values);
  return warp::RingOp::create(builder, loc, type, /*offset=*/IntegerAttr(),
                              /*barriers=*/IntegerAttr());
}

/// Whether sums leave through shared memory. A turn's end waits for a group of
/// copies at no cost, but for additions from registers with a fence; and a
/// reducer with few registers has none for those of two parts of 64 rows.
bool GradientConverter::areSumsStaged() {
  auto type = cast<RankedTensorType>(accumulate.getTile().getType());
  return !isShared() &&
         (accumulate.getOrdered() ||
          (roles().getProducer() < kWideReducer && type.getDimSize(0) > 64));
}

/// Columns of a product of the reducer: 64 take 32 registers of a thread,
/// beside some 40 that it has in any case.
int64_t GradientConverter::getPartColumns() {
  return roles().getProducer() < kWideReducer ? 32 : 64;
}

/// Whether a load fills a slot of shared memory; others go to registers.
bool GradientConverter::isStreamed(tile::LoadOp load) {
  return cast<MemRefType>(load.getView().getType()).getRank() == 4;
}

/// Whether whole blocks of a workspace's rows are there.
bool GradientConverter::isPadded(Value view) {
  auto argument = cast<BlockArgument>(view);
  auto sizes = kernel.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                  "tile.workspace");
  return sizes && sizes.size() == 3 &&
         cast<StringAttr>(sizes[2]).getValue().starts_with("queries up to ");
}

/// The load of a value for each row of `load`, which comes with it.
tile::LoadOp GradientConverter::findValues(tile::LoadOp load) {
  auto rows = cast<RankedTensorType>(load.getTile().getType()).getDimSize(0);
  for (auto other : load->getBlock()->getOps<tile::LoadOp>()) {
    auto type = cast<RankedTensorType>(other.getTile().getType());
    if (!isStreamed(other) && type.getRank() == 2 && type.getDimSize(0) == 1 &&
        type.getDimSize(1) == rows && other.getBatch() == load.getBatch() &&
        other.getHead() == load.getHead() && other.getRow() == load.getRow() &&
        load->isBeforeInBlock(other) && isPadded(other.getView()))
      return other;
  }
  return {};
}

/// Blocks of queries pass through rings of `stages` slots, also the one that is
/// loaded before the loop and carried into it; those of keys stay, dealt to
/// the groups.
void GradientConverter::createRings() {
  auto typeOf = [](tile::LoadOp load) {
    return cast<RankedTensorType>(load.getTile().getType());
  };
  int64_t stages = kernel.getSchedule().getStages();
  llvm::DenseMap<Operation *, tile::LoadOp> carriedOn;
  for (auto [init, value] :
       llvm::zip_equal(loop.getInitArgs(), loop.getYieldedValues()))
    if (auto load = init.getDefiningOp<tile::LoadOp>())
      if (auto next = value.getDefiningOp<tile::LoadOp>())
        carriedOn[load] = next;
  kernel.walk([&](tile::LoadOp load) {
    if (tile::isInRedo(load))
      return;
    if (tile::LoadOp values =
            isStreamed(load) ? findValues(load) : tile::LoadOp()) {
      valuesOf[load] = values;
      rowsOf[values] = load;
    }
  });
  for (auto load : kernel.getBody().getOps<tile::LoadOp>()) {
    if (!isStreamed(load) || carriedOn.contains(load))
      continue;
    Value ring =
        createRing(load.getLoc(), typeOf(load), /*depth=*/1, getParts());
    rings[load] = ring;
    (load.getTile() == ofQueries.getRhs() ? keyRing : valueRing) = ring;
  }
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    if (!isStreamed(load))
      continue;
    // A block that the loop carries has a slot for two pairs; another gives one
    // up where blocks are long and sums take room.
    bool isCarried =
        llvm::is_contained(llvm::make_second_range(carriedOn), load);
    int64_t rows = typeOf(load).getDimSize(0);
    bool isLong = rows > kSegment && stages > 2 && areSumsStaged();
    rings[load] =
        createRing(load.getLoc(), typeOf(load), stages - (isLong && !isCarried),
                   /*parts=*/1, valuesOf.contains(load) ? rows : 0);
  }
  for (auto [load, next] : carriedOn)
    if (isStreamed(next))
      rings[load] = rings.lookup(next);
  scoreRing = createRing(ofQueries.getLoc(),
                         cast<RankedTensorType>(ofQueries.getLhs().getType()),
                         kScoreSlots, getParts());
  if (isShared()) {
    weightRing =
        createRing(weights.getLoc(), cast<RankedTensorType>(weights.getType()),
                   kProbSlots, /*parts=*/1);
    return;
  }
  if (!areSumsStaged())
    return;
  auto room =
      warp::StagingType::get(builder.getContext(), {64, getPartColumns()},
                             builder.getF32Type(), kSumSlots);
  staging = warp::StagingOp::create(builder, accumulate.getLoc(), room,
                                    /*offset=*/IntegerAttr());
}

} // namespace flashc
