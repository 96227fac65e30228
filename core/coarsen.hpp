// Coarsening: clusters vertices along heavy edges and contracts the clusters.
#pragma once
#include <cmath>
#include <numeric>
#include <span>

#include "rng.hpp"
#include "sorting.hpp"
#include "work_graph.hpp"

namespace hopbytes {

template <class W> struct Level {
  WorkGraph<W> graph;  // the coarse graph
  std::vector<int32_t> map;  // coarse vertex of every fine vertex
};

// Rating of an edge for contraction: w^2 / (c_u c_v), which prefers heavy edges between light vertices
// (Holtgrewe, Sanders, Schulz 2010, "expansion*2"). For a fixed u only the load of the other end matters.
inline double rating(double w, int64_t far_load) {
  return w * w / static_cast<double>(std::max<int64_t>(far_load, 1));
}

// Two-hop matching: unmatched vertices that rate the same neighbour highest are matched with each other.
template <class W>
void match_two_hop(const WorkGraph<W>& g, const int32_t* label, int64_t max_cluster,
                   const std::vector<int32_t>& order, const std::vector<uint8_t>& matched,
                   std::vector<int32_t>& leader, int64_t& count) {
  std::vector<int32_t> waiting(g.n, -1), isolated;
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
    if (other >= 0 && (!label || label[other] == label[v]) && g.load[other] + g.load[v] <= max_cluster) {
      leader[v] = other;
      --count;
      other = -1;
    } else {
      other = v;
    }
  }
  // Isolated vertices are matched with each other; otherwise a graph of many small components would never
  // shrink.
  if (label) sort_by_key(isolated, label);
  for (size_t i = 1; i < isolated.size(); ++i) {
    const int32_t other = isolated[i - 1], v = isolated[i];
    if (leader[other] != other || (label && label[other] != label[v]) ||
        g.load[other] + g.load[v] > max_cluster)
      continue;
    leader[v] = other;
    --count;
  }
}

// Moves the vertices with the heaviest edges to the front, ordered by powers of two. If edge weights span
// orders of magnitude, few edges determine the quality of a partition, and if the ends of a heavy edge are
// visited late, their clusters may be full.
template <class W> void heaviest_first(const WorkGraph<W>& g, std::vector<int32_t>& order) {
  std::vector<int32_t> rank(g.n, 1);
  for (int64_t v = 0; v < g.n; ++v) {
    W heaviest = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) heaviest = std::max(heaviest, g.weight[e]);
    if (heaviest > 0) rank[v] = -std::ilogb(static_cast<double>(heaviest));
  }
  sort_by_key(order, rank.data());
}

// Fills `order` with the vertices in random order. Large graphs do not fit in the cache, so there runs of
// consecutive vertices are visited in random order, and the vertices of a run in random order: neighbours
// usually have close numbers.
inline void random_order(std::vector<int32_t>& order, Rng& rng) {
  constexpr int64_t run = 1024, large = 1 << 17;
  const int64_t n = static_cast<int64_t>(order.size());
  std::iota(order.begin(), order.end(), 0);
  if (n < large) return rng.shuffle(order);
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
}

// Clusters vertices along heavy edges. The vertices are visited in random order, or with `heavy_first` the
// ends of heavy edges first. A vertex that is still alone joins the adjacent cluster with the best rating:
// the squared weight of the edges to the cluster over the load of the cluster. Only vertices with equal
// `label` are clustered together (null: all may be), and no cluster becomes heavier than max_cluster. The
// round ends when `fewest` clusters are left, so that consecutive levels differ by a small factor only. Where
// many vertices stay unmatched (stars, scale-free graphs), two-hop matching follows. Returns a leader, one of
// the members, for every vertex's cluster and sets `count` to the number of clusters.
template <class W>
std::vector<int32_t> cluster(const WorkGraph<W>& g, const int32_t* label, int64_t max_cluster, int64_t fewest,
                             Rng& rng, int64_t& count, bool heavy_first = false) {
  std::vector<int32_t> leader(g.n), order(g.n);
  std::vector<int64_t> load(g.load, g.load + g.n), weight(g.n, 0);
  std::vector<uint8_t> matched(g.n, 0);
  Buffer<int32_t> touched(g.n);  // the clusters adjacent to a vertex
  std::iota(leader.begin(), leader.end(), 0);
  random_order(order, rng);
  if (heavy_first) heaviest_first(g, order);
  count = g.n;
  for (int32_t v : order) {
    if (count <= fewest) break;
    if (matched[v]) continue;
    int64_t near = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t c = leader[g.adj[e]];
      touched[near] = c;  // Lists every cluster once. Branch-free, because the branch would be unpredictable.
      near += (weight[c] == 0) & (g.weight[e] != 0);
      weight[c] += g.weight[e];
    }
    double best = 0;
    int32_t target = -1;
    const int64_t offset = near == 0 ? 0 : static_cast<int64_t>(rng.below(near));
    for (int64_t i = 0; i < near; ++i) {
      const int32_t c = touched[i + offset < near ? i + offset : i + offset - near];
      if (load[c] + g.load[v] > max_cluster || (label && label[c] != label[v])) continue;
      const double r = rating(static_cast<double>(weight[c]), load[c]);
      if (r > best) best = r, target = c;
    }
    for (int64_t i = 0; i < near; ++i) weight[touched[i]] = 0;
    if (target < 0) continue;
    leader[v] = target;
    load[target] += g.load[v];
    matched[v] = matched[target] = 1;
    --count;
  }
  if (count * 4 > g.n * 3) match_two_hop(g, label, max_cluster, order, matched, leader, count);
  return leader;
}

// Contracts clusters: loads are summed, parallel edges are merged, and edges inside a cluster vanish.
// `leader` names a cluster by one of its members. Coarse vertices are numbered in the order of the leaders,
// which keeps neighbours close in memory.
template <class W>
Level<W> contract(const WorkGraph<W>& g, const std::vector<int32_t>& leader, int64_t count) {
  Level<W> level;
  level.map.resize(g.n);
  int32_t next = 0;
  for (int64_t v = 0; v < g.n; ++v)
    if (leader[v] == v) level.map[v] = next++;
  std::vector<int64_t> first(count + 1, 0);
  for (int64_t v = 0; v < g.n; ++v) ++first[(level.map[v] = level.map[leader[v]]) + 1];
  for (int64_t c = 0; c < count; ++c) first[c + 1] += first[c];
  std::vector<int32_t> members(g.n);
  {
    std::vector<int64_t> fill(first.begin(), first.end() - 1);
    for (int32_t v = 0; v < g.n; ++v) members[fill[level.map[v]]++] = v;
  }
  WorkGraph<W>& coarse = level.graph;
  coarse.allocate(count, g.arcs());
  std::vector<int64_t> place(count, -1);  // position of the arc to a coarse vertex in the present row
  int64_t filled = 0;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t row = filled;
    coarse.own_start[c] = row;
    coarse.own_load[c] = 0;
    for (int64_t i = first[c]; i < first[c + 1]; ++i) {
      const int32_t v = members[i];
      coarse.own_load[c] += g.load[v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t t = level.map[g.adj[e]];
        if (t == c) continue;
        // Branch-free, because it is unpredictable whether the row already has an arc to t.
        coarse.own_weight[filled] = 0;
        const bool fresh = place[t] < row;
        const int64_t at = fresh ? filled : place[t];
        place[t] = at;
        coarse.own_adj[at] = t;
        coarse.own_weight[at] += g.weight[e];
        filled += fresh;
      }
    }
  }
  coarse.own_start[count] = filled;
  coarse.sum_loads();
  coarse.uneven = g.uneven;
  if (g.linear_cost)
    coarse.linear_cost = std::make_shared<const LinearCost>(g.linear_cost->contracted(level.map, count));
  return level;
}

// Coarsens until at most `target` vertices are left or a round shrinks the graph too little.
constexpr double largest_shrink = 3.0;  // the largest factor between the sizes of two levels

template <class W>
std::vector<Level<W>> coarsen(const WorkGraph<W>& g, const int32_t* label, int64_t target,
                              int64_t max_cluster, Rng& rng, bool heavy_first = false) {
  std::vector<Level<W>> levels;
  std::vector<int32_t> coarse_label;
  if (g.linear_cost) {  // Vertices with different forbidden blocks are never clustered together.
    coarse_label = g.linear_cost->labels(label);
    label = coarse_label.data();
  }
  const WorkGraph<W>* current = &g;
  const int32_t* current_label = label;
  while (current->n > target) {
    int64_t count = 0;
    const int64_t fewest =
        std::max(target, static_cast<int64_t>(static_cast<double>(current->n) / largest_shrink));
    const std::vector<int32_t> leader =
        cluster(*current, current_label, max_cluster, fewest, rng, count, heavy_first);
    if (count > current->n * 19 / 20) break;
    Level<W> level = contract(*current, leader, count);
    if (label) {
      std::vector<int32_t> next(level.graph.n);
      for (int64_t v = 0; v < current->n; ++v) next[level.map[v]] = current_label[v];
      coarse_label = std::move(next);
      current_label = coarse_label.data();
    }
    levels.push_back(std::move(level));
    current = &levels.back().graph;
  }
  return levels;
}

}  // namespace hopbytes
