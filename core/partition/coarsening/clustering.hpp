// Clusters of vertices along heavy edges, which coarsening contracts.
#pragma once
#include <cmath>

#include "partition/coarsening/growing_clusters.hpp"
#include "partition/context.hpp"

namespace hopbytes {

// Moves the vertices with the heaviest edges to the front, ordered by powers of two. If edge weights span
// orders of magnitude, few edges determine the quality of a partition, and if the ends of a heavy edge are
// visited late, their clusters may be full.
template <class W> void heaviest_first(const Graph<W>& g, std::vector<int32_t>& order) {
  std::vector<int32_t> rank(g.n, 1);
  for (int64_t v = 0; v < g.n; ++v) {
    W heaviest = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) heaviest = std::max(heaviest, g.weight[e]);
    if (heaviest > 0) rank[v] = -std::ilogb(static_cast<double>(heaviest));
  }
  sort_by_key(order, rank.data());
}

// Returns the vertices in random order. Large graphs do not fit in the cache, so there runs of consecutive
// vertices are visited in random order, and the vertices of a run in random order: neighbours usually have
// close numbers.
inline std::vector<int32_t> random_order(int64_t n, Rng& rng) {
  constexpr int64_t run = 1024, large = 1 << 17;
  auto order = numbers_below<int32_t>(n);
  if (n < large) {
    rng.shuffle(order);
    return order;
  }
  auto first = numbers_below<int32_t>((n + run - 1) / run);
  rng.shuffle(first);
  auto filled = order.begin();
  for (const int32_t i : first) {
    const auto begin = filled;
    for (int64_t v = i * run; v < std::min(n, (i + 1) * run); ++v) *filled++ = static_cast<int32_t>(v);
    std::span<int32_t> visited(begin, filled);
    rng.shuffle(visited);
  }
  return order;
}

// Clusters vertices along heavy edges. The vertices are visited in random order, or the ends of heavy edges
// first. A vertex that is still alone joins the adjacent cluster with the best rating: the squared weight of
// the edges to the cluster over the load of the cluster. Only vertices of equal communities are clustered
// together (null: all may be), and no cluster becomes heavier than context.max_cluster. The round ends when
// `fewest` clusters are left, so that consecutive levels differ by a small factor only. Where many vertices
// stay unmatched (stars, scale-free graphs), two-hop matching follows. O(n + m).
template <class W>
Clusters cluster_heavy_edges(const Graph<W>& g, const int32_t* community, const CoarseningContext& context,
                             int64_t fewest, Rng& rng, const Control& control) {
  std::vector<int32_t> order = random_order(g.n, rng);
  if (context.heaviest_edges_first) heaviest_first(g, order);
  GrowingClusters clusters(g, context.max_cluster, community, Team::alone());
  Clusters& found = clusters.found;
  found.count -= join_in_order(g, order, 0, g.n, g.n - fewest, rng, control, clusters);
  if (found.count * 4 > g.n * 3 && !control.should_stop())
    match_two_hop(order, [&](int32_t v) { return preferred_neighbour(g, v); }, clusters);
  return std::move(found);
}

}  // namespace hopbytes
