// Part of tile-overlap: the chain of a kernel's key loops.
#include "KeyLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace flashc::tile {
namespace {
/// Whether `loop` goes on where `before` ends.
bool carriesOn(scf::ForOp before, scf::ForOp loop) {
  return isEqualConstantIntOrValue(before.getUpperBound(),
                                   loop.getLowerBound()) &&
         llvm::equal(before.getResults(), loop.getInitArgs()) &&
         llvm::all_of(before->getUsers(),
                      [&](Operation *user) { return user == loop; });
}

/// Whether the loops read all of one stream of K and one of V, and alone, with
/// the same queries.
bool shareStreams(KeyChain &chain) {
  KeyLoop &first = chain.front();
  auto isRange = [&](StreamOp stream) {
    return isEqualConstantIntOrValue(stream.getLo(),
                                     first.loop.getLowerBound()) &&
           isEqualConstantIntOrValue(stream.getHi(),
                                     chain.back().loop.getUpperBound()) &&
           stream->getBlock() == first.loop->getBlock() &&
           size_t(llvm::range_size(stream->getUsers())) == chain.size();
  };
  Value keys = first.keyNext.getStream(), values = first.valueNext.getStream();
  return keys != values && isRange(keys.getDefiningOp<StreamOp>()) &&
         isRange(values.getDefiningOp<StreamOp>()) &&
         llvm::all_of(chain, [&](KeyLoop &k) {
           return k.keyNext.getStream() == keys &&
                  k.valueNext.getStream() == values &&
                  k.scores.getLhs() == first.scores.getLhs() &&
                  k.getProbs().getType() == first.getProbs().getType();
         });
}

/// Whether block lo gives nothing where there are no keys: it is masked, or
/// there are some for certain.
bool standsEmpty(KeyChain &chain) {
  if (llvm::any_of(chain, [](KeyLoop &k) { return k.isMasked; }))
    return true;
  auto lo = getConstantIntValue(chain.front().loop.getLowerBound());
  auto hi = getConstantIntValue(chain.back().loop.getUpperBound());
  return lo && hi && *lo < *hi;
}

/// The kernel's loops as far as they are a chain; the rest has a remark.
KeyChain matchChain(KernelOp kernel) {
  KeyChain chain;
  for (auto loop : kernel.getBody().front().getOps<scf::ForOp>()) {
    std::string why;
    std::optional<KeyLoop> parts = matchKeyLoop(loop, why);
    if (parts && !chain.empty() && !carriesOn(chain.back().loop, loop))
      parts.reset(), why = "does not carry on where the loop before it ends";
    if (!parts) {
      loop.emitRemark() << "tile-overlap leaves this kernel as it is: the loop "
                        << why;
      return {};
    }
    chain.push_back(std::move(*parts));
  }
  return chain;
}
} // namespace

KeyChain findKeyChain(KernelOp kernel) {
  KeyChain chain = matchChain(kernel);
  if (chain.empty() || (shareStreams(chain) && standsEmpty(chain)))
    return chain;
  chain.front().loop.emitRemark(
      "tile-overlap leaves this kernel as it is: its loops do not share one "
      "stream of K and one of V, or may be empty without a mask");
  return {};
}
} // namespace flashc::tile
