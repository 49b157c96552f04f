//===- Rows.cpp - Which rows are compared ---------------------------------===//
//
// All rows of a small problem; of a large one, those where kernels go wrong.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Attention.h"

#include <algorithm>
#include <random>

using namespace flashc;
using namespace flashc::reference;

/// Rows beside the edges of tiles are where kernels go wrong.
static bool isEdge(int64_t i, int64_t sq) {
  for (int64_t tile : {16, 64, 128})
    if (i % tile == 0 || i % tile == tile - 1)
      return true;
  return i == sq - 1;
}

std::vector<Row> reference::sampleRows(const AttentionProblem &problem,
                                       int64_t maxWork, uint64_t seed) {
  int64_t perRow = std::max<int64_t>(problem.sk(), 1) *
                   (problem.headDim() + problem.valueHeadDim());
  int64_t heads = problem.batch() * problem.heads(), sq = problem.sq();
  int64_t total = heads * sq;
  int64_t wanted = std::clamp<int64_t>(maxWork / perRow, 16, 1 << 20);
  std::vector<Row> rows;
  auto add = [&](int64_t n) {
    int64_t bh = n / sq;
    rows.push_back({bh / problem.heads(), bh % problem.heads(), n % sq});
  };
  if (total <= wanted) {
    for (int64_t n = 0; n < total; ++n)
      add(n);
    return rows;
  }
  std::mt19937_64 random(seed);
  for (int64_t n = 0; n < wanted; ++n) {
    int64_t at = random() % total;
    // Half of the rows: move to the next edge of a tile.
    while (n % 2 && !isEdge(at % sq, sq))
      ++at;
    add(at);
  }
  add(0);
  add(total - 1);
  return rows;
}
