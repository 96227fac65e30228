#include "partition/coarsening/clustering.hpp"

#include <cmath>
#include <numeric>
#include <span>

#include "util/sorting.hpp"

namespace hopbytes {

namespace {

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
std::vector<int32_t> random_order(int64_t n, Rng& rng) {
  constexpr int64_t run = 1024, large = 1 << 17;
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (n < large) {
    rng.shuffle(order);
    return order;
  }
  std::vector<int32_t> first((n + run - 1) / run);
  std::iota(first.begin(), first.end(), 0);
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

// Matches vertices that are not matched yet and rate the same neighbour highest with each other. `order`
// holds all vertices. Isolated vertices are matched with each other; otherwise a graph of many small
// components would never shrink. O(n + m).
template <class W>
void match_two_hop(const Graph<W>& g, const int32_t* community, int64_t max_cluster,
                   const std::vector<int32_t>& order, const std::vector<uint8_t>& matched,
                   Clusters& clusters) {
  std::vector<int32_t> waiting(g.n, -1), isolated;
  auto may_join = [&](int32_t v, int32_t other) {
    return (!community || community[other] == community[v]) && g.load[other] + g.load[v] <= max_cluster;
  };
  auto join = [&](int32_t v, int32_t other) {
    clusters.leader[v] = other;
    --clusters.count;
  };
  for (int32_t v : order) {
    if (matched[v]) continue;
    double best = -1;
    int32_t preferred = -1;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const double r = rating(static_cast<double>(g.weight[e]), g.load[g.adj[e]]);
      if (r > best) best = r, preferred = g.adj[e];
    }
    if (preferred < 0) {
      isolated.push_back(v);
      continue;
    }
    int32_t& other = waiting[preferred];
    if (other >= 0 && may_join(v, other)) {
      join(v, other);
      other = -1;
    } else {
      other = v;
    }
  }
  if (community) sort_by_key(isolated, community);
  for (size_t i = 1; i < isolated.size(); ++i) {
    const int32_t other = isolated[i - 1], v = isolated[i];
    if (clusters.leader[other] == other && may_join(v, other)) join(v, other);
  }
}

}  // namespace

template <class W>
Clusters cluster_heavy_edges(const Graph<W>& g, const int32_t* community, const CoarseningContext& context,
                             int64_t fewest, Rng& rng, const Control& control) {
  constexpr int64_t poll_every = 1 << 14, ahead = 4;
  Clusters found{UnsetVector<int32_t>(g.n), g.n};
  UnsetVector<int32_t>& leader = found.leader;
  std::vector<int64_t> load = g.load.copy(0, g.n);
  std::vector<W> weight(g.n, 0);
  std::vector<uint8_t> matched(g.n, 0);
  std::vector<int32_t> touched(g.n);  // the clusters adjacent to a vertex
  std::iota(leader.begin(), leader.end(), 0);
  std::vector<int32_t> order = random_order(g.n, rng);
  if (context.heaviest_edges_first) heaviest_first(g, order);
  for (int64_t i = 0; i < g.n && found.count > fewest; ++i) {
    if (i % poll_every == 0 && control.should_stop()) return found;
    const int32_t v = order[i];
    if (i + ahead < g.n) prefetch_arcs(g, order[i + ahead]);
    if (matched[v]) continue;
    int64_t near = 0;
    for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e) {
      const int32_t c = leader[g.adj[e]];
      touched[near] = c;  // Lists every cluster once. Branch-free, because the branch would be unpredictable.
      near += (weight[c] == 0) & (g.weight[e] != 0);
      weight[c] += g.weight[e];
    }
    const auto rate = [&](int32_t c) {
      const bool permitted =
          load[c] + g.load[v] <= context.max_cluster && (!community || community[c] == community[v]);
      return permitted ? rating(static_cast<double>(weight[c]), load[c]) : 0;
    };
    const int32_t target = best_rated(touched.data(), near, rng, rate).cluster;
    for (int64_t j = 0; j < near; ++j) weight[touched[j]] = 0;
    if (target < 0) continue;
    leader[v] = target;
    load[target] += g.load[v];
    matched[v] = matched[target] = 1;
    --found.count;
  }
  if (found.count * 4 > g.n * 3) match_two_hop(g, community, context.max_cluster, order, matched, found);
  return found;
}

template Clusters cluster_heavy_edges(const Graph<int32_t>&, const int32_t*, const CoarseningContext&,
                                      int64_t, Rng&, const Control&);
template Clusters cluster_heavy_edges(const Graph<int64_t>&, const int32_t*, const CoarseningContext&,
                                      int64_t, Rng&, const Control&);

}  // namespace hopbytes
