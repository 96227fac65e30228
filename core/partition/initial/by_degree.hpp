// Blocks of vertices of similar degree, for graphs with a core.
#pragma once
#include "partition/initial/in_order.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

// Whether few vertices have many more neighbours than the others, as in social networks and R-MAT graphs.
inline bool may_have_core(const GraphShape& g) {
  constexpr int64_t times_the_mean = 8;
  int64_t most = 0;
  for (int64_t v = 0; v < g.n; ++v) most = std::max(most, g.degree(v));
  return most * g.n > times_the_mean * g.arcs();
}

// Fills block after block with vertices of decreasing weight of edges per load, up to the given sizes, so
// that a core is in the first blocks. O(m + n log n).
template <class W>
std::vector<int32_t> blocks_by_degree(const Graph<W>& g, std::span<const int64_t> size) {
  std::vector<double> density(g.n);
  for (int64_t v = 0; v < g.n; ++v) {
    int64_t sum = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) sum += g.weight[e];
    density[v] = static_cast<double>(sum) / static_cast<double>(std::max<int64_t>(1, g.load[v]));
  }
  auto order = numbers_below<int32_t>(g.n);
  std::stable_sort(order.begin(), order.end(), [&](int32_t u, int32_t v) { return density[u] > density[v]; });
  return blocks_in_order(g, size, order);
}

}  // namespace hopbytes
