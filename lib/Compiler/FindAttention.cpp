// The one function of a module that becomes a kernel, found and checked.
#include "flashc/Compiler/Module.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace flashc;

static llvm::Expected<int> argumentOf(AttnFunction &found, Value value,
                                      llvm::StringRef what) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  if (argument && argument.getOwner() == &found.func.getBody().front())
    return static_cast<int>(argument.getArgNumber());
  return makeError("@{}: {} of attn.forward is computed by another op, but "
                   "must be an argument of the function; pass it in",
                   found.func.getName().str(), what.str());
}

static std::string captureName(func::FuncOp func, unsigned argument,
                               size_t capture) {
  auto name = func.getArgAttrOfType<StringAttr>(argument, kArgumentNameAttr);
  return name ? name.str() : "capture" + std::to_string(capture);
}

static llvm::Error findOperands(AttnFunction &found) {
  auto find = [&](int &slot, Value value, llvm::StringRef what) -> llvm::Error {
    llvm::Expected<int> index = argumentOf(found, value, what);
    if (!index)
      return index.takeError();
    slot = *index;
    return llvm::Error::success();
  };
  attn::ForwardOp op = found.forward;
  if (llvm::Error error = find(found.query, op.getQuery(), "query"))
    return error;
  if (llvm::Error error = find(found.key, op.getKey(), "key"))
    return error;
  if (llvm::Error error = find(found.value, op.getValue(), "value"))
    return error;
  if (op.getKvLengths())
    if (llvm::Error error =
            find(found.kvLengths, op.getKvLengths(), "kv_lengths"))
      return error;
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    if (llvm::Error error = find(found.captures.emplace_back(), capture,
                                 "capture " + std::to_string(i)))
      return error;
    found.captureNames.push_back(
        captureName(found.func, found.captures.back(), i));
  }
  return llvm::Error::success();
}

// The symbol of the kernel in PTX. `flashc_` is for what the compiler adds.
static llvm::Error checkName(llvm::StringRef name) {
  bool letters =
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (letters && !name.empty() && !llvm::isDigit(name[0]) &&
      !name.starts_with("flashc_") && name.size() <= 200)
    return llvm::Error::success();
  return makeError("the kernel's function is called '{}', but a kernel's name "
                   "has letters, digits and _, at most 200, no digit and no "
                   "flashc_ in front; rename it",
                   name.take_front(60).str());
}

llvm::Expected<AttnFunction> flashc::findAttention(ModuleOp module) {
  AttnFunction found;
  int count = 0;
  module.walk([&](attn::ForwardOp op) {
    found.forward = op;
    ++count;
  });
  if (count != 1)
    return makeError("the module holds {} attn.forward ops, but one kernel is "
                     "made of one; split the module",
                     count);
  found.func = dyn_cast<func::FuncOp>(found.forward->getParentOp());
  if (!found.func)
    return makeError(
        "attn.forward stands inside {}, but must stand in a "
        "func.func; move it there",
        found.forward->getParentOp()->getName().getStringRef().str());
  if (llvm::Error error = checkName(found.func.getName()))
    return error;
  if (llvm::Error error = findOperands(found))
    return error;
  Operation *end = found.forward->getBlock()->getTerminator();
  ValueRange results = found.forward.getResults();
  ValueRange returned = end->getOperands();
  found.returnsLse = returned.size() == 2;
  if (returned.empty() || returned.size() > 2 ||
      returned != results.take_front(returned.size()))
    return makeError("@{} must return the results of its attn.forward, output "
                     "first, but returns {} other values; change the return",
                     found.func.getName().str(), returned.size());
  return found;
}

bool flashc::holdsBackward(ModuleOp module) {
  return module.walk([](attn::BackwardOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

llvm::Expected<BackwardFunction> flashc::findBackward(ModuleOp module) {
  BackwardFunction found;
  int count = 0;
  module.walk([&](attn::AttentionInterface op) {
    if (auto backward = dyn_cast<attn::BackwardOp>(op.getOperation()))
      found.backward = backward;
    ++count;
  });
  if (count != 1 || !found.backward)
    return makeError(
        "the module holds {} attention ops, but gradients are made "
        "of one attn.backward; split the module",
        count);
  found.func = dyn_cast<func::FuncOp>(found.backward->getParentOp());
  if (!found.func)
    return makeError(
        "attn.backward stands inside {}, but must stand in a "
        "func.func; move it there",
        found.backward->getParentOp()->getName().getStringRef().str());
  if (llvm::Error error = checkName(found.func.getName()))
    return error;
  for (auto [i, operand] : llvm::enumerate(found.backward->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != &found.func.getBody().front())
      return makeError(
          "@{}: operand {} of attn.backward is computed by another "
          "op, but must be an argument of the function; pass it in",
          found.func.getName().str(), i);
  }
  for (auto [i, capture] : llvm::enumerate(found.backward.getCaptures()))
    found.captureNames.push_back(captureName(
        found.func, cast<BlockArgument>(capture).getArgNumber(), i));
  return found;
}
