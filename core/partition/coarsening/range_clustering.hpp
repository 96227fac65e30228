// Clusters inside ranges of consecutive vertices, which threads find at the same time.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/graph.hpp"
#include "partition/coarsening/clusters.hpp"
#include "partition/context.hpp"
#include "util/control.hpp"
#include "util/parallel.hpp"
#include "util/rng.hpp"
#include "util/unset_vector.hpp"

namespace hopbytes {

// Clusters while vertices join them.
struct ClustersInRounds {
  static constexpr int64_t ahead = 8;  // visits for which memory is asked beforehand

  Clusters found;
  UnsetVector<int64_t> load;     // of the cluster that a leader names
  UnsetVector<uint8_t> matched;  // whether a vertex is in a cluster of several
  int64_t max_cluster;
  const int32_t* community;  // null: all may join each other

  ClustersInRounds(const GraphShape& g, const SynchronousContext& context, Team& team)
      : found{UnsetVector<int32_t>(g.n), g.n},
        load(g.n),
        matched(g.n),
        max_cluster(context.max_cluster),
        community(context.community) {
    parallel_ranges(g.n, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) {
        found.leader[v] = static_cast<int32_t>(v);
        load[v] = g.load[v];
        matched[v] = 0;
      }
    });
  }

  bool may_join(int32_t v, int32_t u) const { return !community || community[v] == community[u]; }
};

// Visits the vertices of a range in random order. A vertex joins the best cluster of the range, unless an
// edge that leaves the range has a better rating. At most `most` vertices join clusters; returns how many.
template <class W>
int64_t cluster_range(const Graph<W>& g, int64_t begin, int64_t end, int64_t most, uint64_t seed,
                      ClustersInRounds& clusters) {
  constexpr int64_t ahead = ClustersInRounds::ahead;
  auto& [found, load, matched, max_cluster, community] = clusters;
  UnsetVector<int32_t>& leader = found.leader;
  const int64_t size = end - begin;
  std::vector<int32_t> order(size);
  std::iota(order.begin(), order.end(), static_cast<int32_t>(begin));
  Rng rng(derive(seed, begin));
  rng.shuffle(order);
  std::vector<int64_t> weight(size, 0);
  std::vector<int32_t> touched;
  int64_t joined = 0;
  for (int64_t i = 0; i < size && joined < most; ++i) {
    const int32_t v = order[i];
    if (i + 2 * ahead < size) __builtin_prefetch(&g.start[order[i + 2 * ahead]]);
    if (i + ahead < size) prefetch_arcs(g, order[i + ahead]);
    if (matched[v]) continue;
    touched.resize(std::max<size_t>(touched.size(), g.degree(v) + 1));
    int64_t near = 0;
    double outside = 0;  // the best rating of an edge that leaves the range
    int64_t leaving = 0;  // the number of such edges
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (u < begin || u >= end) {
        if (!clusters.may_join(v, u)) continue;
        const double r = rating(static_cast<double>(g.weight[e]), g.load[u]);
        if (r >= outside) leaving = r > outside ? 1 : leaving + 1, outside = r;
        continue;
      }
      const int64_t c = leader[u] - begin;
      touched[near] = static_cast<int32_t>(c);
      near += (weight[c] == 0) & (g.weight[e] != 0);
      weight[c] += g.weight[e];
    }
    const auto rate = [&](int32_t c) {
      const bool permitted =
          load[begin + c] + g.load[v] <= max_cluster && clusters.may_join(v, static_cast<int32_t>(begin + c));
      return permitted ? rating(static_cast<double>(weight[c]), load[begin + c]) : 0;
    };
    const RatedCluster best = best_rated(touched.data(), near, rng, rate);
    for (int64_t j = 0; j < near; ++j) weight[touched[j]] = 0;
    if (best.cluster < 0 || outside > best.rating) continue;
    if (outside == best.rating && static_cast<int64_t>(rng.below(near + leaving)) >= near) continue;
    const int64_t target = begin + best.cluster;
    leader[v] = static_cast<int32_t>(target);
    load[target] += g.load[v];
    matched[v] = matched[target] = 1;
    ++joined;
  }
  return joined;
}

// Clusters the vertices of every range of consecutive numbers among themselves, as far as the share of the
// range in the fewest clusters permits.
template <class W>
void cluster_ranges(const Graph<W>& g, const SynchronousContext& context, Team& team, const Control& control,
                    ClustersInRounds& clusters) {
  const int64_t step = context.local_range;
  std::vector<int64_t> joined((g.n + step - 1) / step, 0);
  parallel_ranges(g.n, step, team, [&](int32_t, int64_t begin, int64_t end) {
    if (control.should_stop()) return;
    const int64_t most = (end - begin) - ((end - begin) * context.fewest + g.n - 1) / g.n;
    joined[begin / step] = cluster_range(g, begin, end, most, context.seed, clusters);
  });
  for (const int64_t count : joined) clusters.found.count -= count;
}

}  // namespace hopbytes
