// Clusters while vertices join them: one after the other, or in pairs.
#pragma once
#include "graph/graph.hpp"
#include "partition/coarsening/clusters.hpp"
#include "util/control.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

struct GrowingClusters {
  static constexpr int64_t ahead = 8;  // visits for which memory is asked beforehand

  const GraphShape& g;
  Clusters found;
  UnsetVector<int64_t> load;     // of the cluster that a leader names
  UnsetVector<uint8_t> matched;  // whether a vertex is in a cluster of several
  int64_t max_cluster;
  const int32_t* community;  // null: all may join each other

  GrowingClusters(const GraphShape& graph, int64_t max_load, const int32_t* communities, Team& team)
      : g(graph),
        found{UnsetVector<int32_t>(g.n), g.n},
        load(g.n),
        matched(g.n),
        max_cluster(max_load),
        community(communities) {
    parallel_ranges(g.n, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) {
        found.leader[v] = static_cast<int32_t>(v);
        load[v] = g.load[v];
        matched[v] = 0;
      }
    });
  }

  // Whether v, which is alone, may join cluster c.
  bool may_join(int64_t v, int64_t c) const {
    return load[c] + g.load[v] <= max_cluster && same_community(v, c);
  }
  bool same_community(int64_t v, int64_t u) const { return !community || community[v] == community[u]; }

  // Adds v, which is alone, to cluster c if it may join it. Returns whether it did.
  bool join(int32_t v, int32_t c) {
    if (!may_join(v, c)) return false;
    found.leader[v] = c;
    load[c] += g.load[v];
    matched[v] = matched[c] = 1;
    --found.count;
    return true;
  }
};

// Visits the vertices begin .. end - 1 in the given order. A vertex that is still alone joins the best rated
// cluster of them, unless an edge that leaves them has a better rating. At most `most` vertices join; returns
// how many, by which the caller lowers the number of clusters.
template <class W>
int64_t join_in_order(const Graph<W>& g, std::span<const int32_t> order, int64_t begin, int64_t end,
                      int64_t most, Rng& rng, const Control& control, GrowingClusters& clusters) {
  constexpr int64_t poll_every = 1 << 14, ahead = GrowingClusters::ahead;
  UnsetVector<int32_t>& leader = clusters.found.leader;
  const int64_t size = end - begin;
  std::vector<int64_t> weight(size, 0);
  std::vector<int32_t> touched;  // the clusters adjacent to a vertex
  int64_t joined = 0;
  for (int64_t i = 0; i < size && joined < most; ++i) {
    if (i % poll_every == 0 && control.should_stop()) break;
    const int32_t v = order[i];
    if (i + 2 * ahead < size) __builtin_prefetch(&g.start[order[i + 2 * ahead]]);
    if (i + ahead < size) prefetch_arcs(g, order[i + ahead]);
    if (clusters.matched[v]) continue;
    touched.resize(std::max<size_t>(touched.size(), g.degree(v) + 1));
    int64_t near = 0;
    double outside = 0;   // the best rating of an edge that leaves the range
    int64_t leaving = 0;  // the number of such edges
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (u < begin || u >= end) {
        if (!clusters.same_community(v, u)) continue;
        const double r = rating(static_cast<double>(g.weight[e]), g.load[u]);
        if (r >= outside) leaving = r > outside ? 1 : leaving + 1, outside = r;
        continue;
      }
      const int64_t c = leader[u] - begin;
      // Lists every cluster once. Branch-free, because the branch would be unpredictable.
      touched[near] = static_cast<int32_t>(c);
      near += (weight[c] == 0) & (g.weight[e] != 0);
      weight[c] += g.weight[e];
    }
    const auto rate = [&](int32_t c) {
      return clusters.may_join(v, begin + c)
                 ? rating(static_cast<double>(weight[c]), clusters.load[begin + c])
                 : 0;
    };
    const RatedCluster best = best_rated(touched.data(), near, rng, rate);
    for (int64_t j = 0; j < near; ++j) weight[touched[j]] = 0;
    if (best.cluster < 0 || outside > best.rating) continue;
    if (outside == best.rating && static_cast<int64_t>(rng.below(near + leaving)) >= near) continue;
    const int64_t target = begin + best.cluster;
    leader[v] = static_cast<int32_t>(target);
    clusters.load[target] += g.load[v];
    clusters.matched[v] = clusters.matched[target] = 1;
    ++joined;
  }
  return joined;
}

// Returns the neighbour that v rates highest, -1 if it has none.
template <class W> int32_t preferred_neighbour(const Graph<W>& g, int64_t v) {
  double best = -1;
  int32_t found = -1;
  for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
    const double r = rating(static_cast<double>(g.weight[e]), g.load[g.adj[e]]);
    if (r > best) best = r, found = g.adj[e];
  }
  return found;
}

// Matches those of some vertices that are alone and rate the same neighbour, preferred(v), highest with each
// other. Isolated vertices are matched with each other, too; otherwise a graph of many small components would
// never shrink. O(n).
template <class Preferred>
void match_two_hop(std::span<const int32_t> order, Preferred preferred, GrowingClusters& clusters) {
  std::vector<int32_t> waiting(clusters.g.n, -1), isolated;
  for (const int32_t v : order) {
    if (clusters.matched[v]) continue;
    const int32_t neighbour = preferred(v);
    if (neighbour < 0) {
      isolated.push_back(v);
      continue;
    }
    int32_t& other = waiting[neighbour];
    other = other >= 0 && clusters.join(v, other) ? -1 : v;
  }
  if (clusters.community) sort_by_key(isolated, clusters.community);
  for (size_t i = 1; i < isolated.size(); ++i)
    if (!clusters.matched[isolated[i - 1]]) clusters.join(isolated[i], isolated[i - 1]);
}

}  // namespace hopbytes
