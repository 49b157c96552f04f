//===- Arrays.cpp - Q, K, V, O and LSE on the device ----------------------===//
//
// In: cells. Out: arguments of a launch, and the comparison of what it wrote
// with the oracle, for which the inputs are made once more on the host.
//
//===----------------------------------------------------------------------===//
#include "Arrays.h"
#include "Description.h"

#include "flashc/Reference/Cases.h"
#include "flashc/Support/Error.h"

#include <cstring>

using namespace flashc;

static constexpr int64_t kPeriod = 1048573;

/// Elements of Q, K, V, O and LSE.
static std::array<int64_t, 5> sizes(const Cell &cell) {
  int64_t tokens = cell.batch() * cell.length;
  return {tokens * cell.heads * cell.dim, tokens * cell.kvHeads * cell.dim,
          tokens * cell.kvHeads * cell.valueDim,
          tokens * cell.heads * cell.valueDim, tokens * cell.heads};
}

const std::vector<uint16_t> &Arrays::pattern(int which) const {
  std::vector<uint16_t> &numbers = patterns[which];
  if (numbers.empty()) {
    auto line = reference::HostTensor::dense(element, {1, 1, kPeriod, 1},
                                             reference::Layout::BSHD);
    reference::Random random(which + 1);
    reference::fillNormal(line, random, which == Query ? queryScale : 1);
    numbers.resize(kPeriod);
    std::memcpy(numbers.data(), line.storage.data(), 2 * kPeriod);
  }
  return numbers;
}

llvm::Error Arrays::grow(int which, int64_t elements) {
  size_t bytes = elements * (which == Lse ? 4 : 2);
  if (buffers[which].size() >= bytes)
    return llvm::Error::success();
  buffers[which] = DeviceBuffer(); // first, since both may not fit
  llvm::Expected<DeviceBuffer> made = device.alloc(bytes);
  if (!made)
    return made.takeError();
  for (int64_t at = 0; which <= Value && at < elements; at += kPeriod)
    if (llvm::Error error =
            device.copyTo(made->pointer() + 2 * at, pattern(which).data(),
                          2 * std::min(kPeriod, elements - at)))
      return error;
  buffers[which] = std::move(*made);
  return llvm::Error::success();
}

llvm::Error Arrays::reserve(const Cell &cell) {
  for (auto [which, elements] : llvm::enumerate(sizes(cell)))
    if (llvm::Error error = grow(int(which), elements))
      return error;
  std::vector<float> slopes = getSlopes(cell);
  if (slopes.empty())
    return llvm::Error::success();
  llvm::Expected<DeviceBuffer> made =
      device.upload(slopes.data(), slopes.size() * sizeof(float));
  if (!made)
    return made.takeError();
  buffers[Slopes] = std::move(*made);
  return llvm::Error::success();
}

std::vector<ArrayArg> Arrays::arguments(const Cell &cell) const {
  int64_t b = cell.batch(), s = cell.length, h = cell.heads, hk = cell.kvHeads;
  auto array = [&](int which, int64_t heads, int64_t dim) -> ArrayArg {
    return {buffers[which].pointer(),
            {b, heads, s, dim},
            {s * heads * dim, dim, heads * dim, 1}};
  };
  std::vector<ArrayArg> list{array(Query, h, cell.dim),
                             array(Key, hk, cell.dim),
                             array(Value, hk, cell.valueDim)};
  if (!getSlopes(cell).empty())
    list.push_back({buffers[Slopes].pointer(), {h}, {}});
  list.push_back(array(Output, h, cell.valueDim));
  list.push_back({buffers[Lse].pointer(), {b, h, s}, {h * s, s, 1}});
  return list;
}

llvm::Error Arrays::spoil(const Cell &cell) const {
  for (int which : {Output, Lse}) // all bits set is NaN in every type
    if (llvm::Error error =
            device.fill(buffers[which].pointer(), 0xff,
                        sizes(cell)[which] * (which == Lse ? 4 : 2)))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::string> Arrays::check(const Cell &cell,
                                          int64_t maxWork) const {
  llvm::Expected<reference::AttentionProblem> p = makeProblem(cell);
  if (!p)
    return p.takeError();
  auto [q, k, v, o, lse] = sizes(cell);
  for (auto [which, tensor, elements] :
       {std::tuple{Query, &p->q, q}, {Key, &p->k, k}, {Value, &p->v, v}}) {
    tensor->storage.resize(2 * elements);
    for (int64_t at = 0; at < elements; at += kPeriod)
      std::memcpy(tensor->storage.data() + 2 * at, pattern(which).data(),
                  2 * std::min(kPeriod, elements - at));
  }
  auto output = reference::HostTensor::dense(
      element, {cell.batch(), cell.heads, cell.length, cell.valueDim},
      reference::Layout::BSHD);
  std::vector<float> rows(lse);
  if (llvm::Error error = device.copyFrom(output.storage.data(),
                                          buffers[Output].pointer(), 2 * o))
    return std::move(error);
  if (llvm::Error error =
          device.copyFrom(rows.data(), buffers[Lse].pointer(), 4 * lse))
    return std::move(error);
  reference::ErrorReport report =
      reference::checkError(*p, output, rows.data(), maxWork);
  if (!report.ok)
    return makeError("{}: wrong result: {}", cell.name(), report.why);
  return report.summary();
}
