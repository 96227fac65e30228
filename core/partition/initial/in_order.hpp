// Blocks of vertices in an order.
#pragma once
#include "graph/graph.hpp"

namespace hopbytes {

// Fills block after block with vertices in the given order or that of their numbers, each up to its maximum
// weight; what fits nowhere goes to the last block. By number this is the start of a search that is asked to
// stop before it has begun. O(n + k).
inline std::vector<int32_t> blocks_in_order(const GraphShape& g, std::span<const int64_t> max_block_weight,
                                            std::span<const int32_t> order = {}) {
  std::vector<int32_t> block(g.n);
  const auto last = static_cast<int32_t>(max_block_weight.size()) - 1;
  int32_t b = 0;
  int64_t load = 0;
  for (int64_t i = 0; i < g.n; ++i) {
    const int64_t v = order.empty() ? i : order[i];
    while (b < last && g.load[v] > max_block_weight[b] - load) ++b, load = 0;
    block[v] = b;
    load += g.load[v];
  }
  return block;
}

}  // namespace hopbytes
