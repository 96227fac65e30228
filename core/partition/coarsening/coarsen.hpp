// Coarsening: rounds of clustering and contraction.
#pragma once
#include "partition/context.hpp"
#include "partition/hierarchy.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Returns to how many vertices a graph of n vertices is coarsened for k blocks: to `per_block` for each one,
// but at least to a sixth if blocks have few vertices. Otherwise a graph of 50 vertices per block would be
// partitioned without any coarsening. (A sixth and a tenth give about the same J on six graphs of 19 to 88
// vertices per block; without this rule it is 3 % higher.)
inline int64_t coarsest_vertices(int64_t n, int64_t per_block, int64_t k) {
  constexpr int64_t shrink = 6, fewest_per_block = 4;
  return std::max<int64_t>(2, std::min(per_block * k, std::max(n / shrink, fewest_per_block * k)));
}

// Returns limits for coarsening to about `target` vertices: clusters are light enough to leave the coarsest
// graph balanced if blocks hold `block_weight`, and a pair of average vertices always fits.
inline CoarseningContext coarsening_limits(const GraphShape& g, int64_t target, int64_t block_weight) {
  target = std::max<int64_t>(2, target);
  const int64_t fair = g.total_load / std::max<int64_t>(1, target / 3);
  return {target, std::max({int64_t{1}, std::min(fair, block_weight / 4), average_pair(g)}), false, {}};
}

// Small graphs are contracted faster than threads begin.
inline bool contracted_by_ranges(const GraphShape& g) {
  constexpr int64_t many_vertices = 1 << 13, many_arcs = 1 << 16;
  return g.n >= many_vertices || g.arcs() >= many_arcs;
}
inline Team& team_for(const GraphShape& g, const Control& control) {
  return contracted_by_ranges(g) ? control.team() : Team::alone();
}

// Coarsens until at most context.target vertices are left, a round shrinks the graph too little, or control
// asks to stop. Only vertices of equal communities are contracted (null: all may be). The graph has to
// outlive the hierarchy. O(n + m) per level; the levels shrink geometrically.
template <class W>
Hierarchy<W> coarsen(const Graph<W>& g, const int32_t* community, const CoarseningContext& context, Rng& rng,
                     const Control& control);

}  // namespace hopbytes
