// Coarsening once for a whole mapping: what becomes of the levels is the caller's business.
#pragma once
#include "coarsen.hpp"
#include "control.hpp"

namespace hopbytes {

// How coarse: vertices left and load of a cluster, for blocks with these caps.
struct CoarseSize {
  int64_t target, max_cluster;

  template <class W> CoarseSize(const WorkGraph<W>& g, std::span<const int64_t> cap, int64_t per_block, int64_t fewest) {
    target = std::max({int64_t{2}, fewest, per_block * static_cast<int64_t>(cap.size())});
    const int64_t smallest = *std::min_element(cap.begin(), cap.end());
    // As in V-cycles: light enough to balance the coarsest graph, never below a pair of average vertices.
    const int64_t fair = g.total_load / std::max<int64_t>(1, target / 3);
    max_cluster = std::max({int64_t{1}, std::min(fair, smallest / 4), average_pair(g)});
  }
};

// Writes the maps of all levels one after another, and to `sizes` how many vertices each level has, the
// coarsest last; returns the number of levels. Ends early where the maps would not fit.
template <class W>
int64_t coarsen_once(const WorkGraph<W>& g, const CoarseSize& size, uint64_t seed, const Control& control,
                     std::span<int32_t> maps, std::span<int64_t> sizes) {
  Rng rng(seed);
  const auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), size.target, size.max_cluster, rng);
  control.spend(2 * g.arcs());
  int64_t filled = 0, count = 0;
  for (const Level<W>& level : levels) {
    const int64_t fine = static_cast<int64_t>(level.map.size());
    if (filled + fine > static_cast<int64_t>(maps.size()) || count == static_cast<int64_t>(sizes.size())) break;
    std::copy(level.map.begin(), level.map.end(), maps.begin() + filled);
    filled += fine;
    sizes[count++] = level.graph.n;
  }
  return count;
}

}  // namespace hopbytes
