// Coarsens once for a whole mapping. The caller decides how the levels are used.
#pragma once
#include "coarsen.hpp"
#include "control.hpp"

namespace hopbytes {

// Says when coarsening ends, for blocks with these maximum weights: the number of vertices to stop at and the
// maximum load of a cluster.
struct CoarseSize {
  int64_t target, max_cluster;

  template <class W>
  CoarseSize(const WorkGraph<W>& g, std::span<const int64_t> max_block_weight, int64_t per_block,
             int64_t fewest) {
    target = std::max({int64_t{2}, fewest, per_block * static_cast<int64_t>(max_block_weight.size())});
    const int64_t smallest = *std::min_element(max_block_weight.begin(), max_block_weight.end());
    // As in V-cycles: clusters are light enough to balance the coarsest graph, and a pair of average vertices
    // always fits.
    const int64_t fair = g.total_load / std::max<int64_t>(1, target / 3);
    max_cluster = std::max({int64_t{1}, std::min(fair, smallest / 4), average_pair(g)});
  }
};

// Writes the maps of all levels one after another into `maps`, and the number of vertices of each level into
// `sizes`, the coarsest level last. Returns the number of levels. Ends early if the maps do not fit.
template <class W>
int64_t coarsen_once(const WorkGraph<W>& g, const CoarseSize& size, uint64_t seed, const Control& control,
                     std::span<int32_t> maps, std::span<int64_t> sizes) {
  Rng rng(seed);
  const auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), size.target, size.max_cluster, rng);
  control.record_work(2 * g.arcs());
  int64_t filled = 0, count = 0;
  for (const Level<W>& level : levels) {
    const int64_t fine = static_cast<int64_t>(level.map.size());
    if (filled + fine > static_cast<int64_t>(maps.size()) || count == static_cast<int64_t>(sizes.size()))
      break;
    std::copy(level.map.begin(), level.map.end(), maps.begin() + filled);
    filled += fine;
    sizes[count++] = level.graph.n;
  }
  return count;
}

}  // namespace hopbytes
