// Initial partitions of small graphs: recursive bisection by greedy graph growing, each bisection refined by
// FM.
#pragma once
#include <cmath>

#include "local_search.hpp"

namespace hopbytes {

// Quality of a partition: overload first, then cut.
struct Score {
  int64_t overload = std::numeric_limits<int64_t>::max();
  int64_t cut = std::numeric_limits<int64_t>::max();
  bool operator<(const Score& other) const {
    return overload != other.overload ? overload < other.overload : cut < other.cut;
  }
};

// A partition and its quality.
struct Candidate {
  Score score;
  std::vector<int32_t> part;
};

inline void best_first(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) { return x.score < y.score; });
}

template <class W>
Score score(const WorkGraph<W>& g, const int32_t* part, std::span<const int64_t> cap, bool with_unary = true) {
  std::vector<int64_t> load(cap.size(), 0);
  for (int64_t v = 0; v < g.n; ++v) load[part[v]] += g.load[v];
  Score s{0, edge_cut(g, part)};
  // A vertex on a forbidden block counts as overload.
  if (g.unary && with_unary) s.cut += g.unary->total(part, s.overload);
  for (size_t b = 0; b < cap.size(); ++b) s.overload += std::max<int64_t>(0, load[b] - cap[b]);
  return s;
}

// Assigns to every block the child for which the linear assignment costs of its vertices are least, then
// moves vertices off forbidden blocks: to the cheapest permitted block, of equal ones to the one with the
// most room.
template <class W> void settle(const WorkGraph<W>& g, std::span<const int64_t> cap, int32_t* part) {
  constexpr int32_t most = 512;  // Matching blocks to children takes the cube of their number.
  const Unary& unary = *g.unary;
  const int32_t k = static_cast<int32_t>(cap.size());
  std::vector<int64_t> load(k, 0);
  for (int64_t v = 0; v < g.n; ++v) load[part[v]] += g.load[v];
  if (k <= most) {
    // A forbidden block costs as much as all edges together. A child that is too small costs in proportion to
    // the overload.
    double edges = 1;
    for (int64_t e = 0; e < g.arcs(); ++e) edges += static_cast<double>(g.weight[e]);
    const double per_load = edges * static_cast<double>(g.n) / static_cast<double>(std::max<int64_t>(1, g.total_load));
    std::vector<double> cost(static_cast<size_t>(k) * k, 0.0);
    for (int32_t b = 0; b < k; ++b)
      for (int32_t c = 0; c < k; ++c)
        cost[static_cast<size_t>(b) * k + c] = per_load * static_cast<double>(std::max<int64_t>(0, load[b] - cap[c]));
    for (int64_t v = 0; v < g.n; ++v) {
      double* row = cost.data() + static_cast<size_t>(part[v]) * k;
      const double rest = unary.rest[v] >= Unary::kForbidden ? edges : static_cast<double>(unary.rest[v]);
      if (rest != 0)
        for (int32_t c = 0; c < k; ++c) row[c] += rest;
      for (int64_t e = unary.start[v]; e < unary.start[v + 1]; ++e)
        row[unary.block[e]] += (unary.cost[e] >= Unary::kForbidden ? edges : static_cast<double>(unary.cost[e])) - rest;
    }
    const std::vector<int32_t> child = best_assignment(cost, k);
    for (int64_t v = 0; v < g.n; ++v) part[v] = child[part[v]];
    std::fill(load.begin(), load.end(), 0);
    for (int64_t v = 0; v < g.n; ++v) load[part[v]] += g.load[v];
  }
  for (int64_t v = 0; v < g.n; ++v) {
    if (unary.allows(v, part[v])) continue;
    int32_t best = -1;
    for (int32_t b = 0; b < k; ++b) {
      if (!unary.allows(v, b)) continue;
      if (best < 0 || unary(v, b) < unary(v, best) || (unary(v, b) == unary(v, best) && cap[b] - load[b] > cap[best] - load[best]))
        best = b;
    }
    if (best < 0) continue;
    load[part[v]] -= g.load[v];
    load[best] += g.load[v];
    part[v] = best;
  }
}

// Greedy graph growing: grows block 0 from a random vertex. It always takes the vertex with the largest key
// until the block weighs about `target`, and restarts with a random vertex when a component ends.
template <class W>
void grow(const WorkGraph<W>& g, int64_t target, const std::vector<int64_t>& degree, std::vector<int32_t>& part,
          VertexHeap& heap, Rng& rng) {
  std::vector<int64_t> key(g.n);  // weight into the block minus weight out of it
  for (int64_t v = 0; v < g.n; ++v) key[v] = -degree[v];
  std::fill(part.begin(), part.end(), 1);
  heap.resize(g.n);
  int64_t grown = 0;
  int64_t untouched = g.n;
  int32_t cursor = -1;
  while (grown < target && untouched > 0) {
    if (heap.empty()) {
      int32_t v = static_cast<int32_t>(rng.below(g.n));
      if (part[v] == 0) {
        // With thousands of components, most random draws would hit grown vertices, so one cursor passes over
        // all vertices once instead.
        if (cursor < 0) cursor = v;
        while (part[cursor] == 0) cursor = cursor + 1 == g.n ? 0 : cursor + 1;
        v = cursor;
      }
      heap.push(v, key[v]);
    }
    const int32_t v = heap.top();
    heap.pop();
    // The vertex that crosses the target is taken only if the load comes nearer to the target.
    if (grown + g.load[v] - target > target - grown && grown > 0) {
      if (heap.empty()) break;
      continue;
    }
    part[v] = 0;
    --untouched;
    grown += g.load[v];
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (part[u] == 0) continue;
      key[u] += g.weight[e];
      key[u] += g.weight[e];  // added twice, because 2 w may exceed an int64
      if (heap.contains(u)) heap.change(u, key[u]);
      else heap.push(u, key[u]);
    }
  }
  heap.clear();
}

// Returns the best of several grown and FM-refined bisections with the given maximum block weights.
template <class W>
std::vector<int32_t> bisect(const WorkGraph<W>& g, int64_t target, const int64_t (&cap)[2], int32_t tries, Rng& rng,
                            const Control& control) {
  std::vector<int32_t> part(g.n, 1), best(g.n, 1);
  Score best_score;
  std::vector<int64_t> degree(g.n, 0);
  for (int64_t v = 0; v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) degree[v] += g.weight[e];
  VertexHeap heap;
  LocalSearch<W, FlatDistance> search({}, 2, cap);
  search.edges_only();
  SearchOptions options;
  options.slack = g.max_load;
  for (int32_t t = 0; t < tries && (t == 0 || !control.hurry()); ++t) {
    grow(g, target, degree, part, heap, rng);
    search.adopt(g, part.data());
    search.run(options, nullptr, rng, control);
    const Score s = score(g, part.data(), std::span<const int64_t>(cap, 2), false);
    if (s < best_score) best_score = s, best = part;
    control.spend(g.arcs());
  }
  control.spend(search.arcs_seen());
  return best;
}

// Recursive bisection into blocks first, first + 1, ... with the given maximum weights; writes part[vertex].
template <class W>
void recursive_bisection(const WorkGraph<W>& g, std::span<const int64_t> cap, int32_t first, int32_t tries, Rng& rng,
                         const Control& control, const std::vector<int32_t>& vertex, int32_t* part) {
  const int64_t a = static_cast<int64_t>(cap.size());
  if (a == 1 || g.n == 0) {
    for (int64_t v = 0; v < g.n; ++v) part[vertex[v]] = first;
    return;
  }
  const int64_t left = a / 2;
  int64_t cap_left = 0, cap_all = 0;
  for (int64_t b = 0; b < a; ++b) cap_all += cap[b], cap_left += b < left ? cap[b] : 0;
  const int64_t cap_right = cap_all - cap_left;
  // The load is divided in proportion to the maximum block weights. Each side gets a part of the slack, so
  // that some is left for deeper bisections.
  const double share = cap_all ? static_cast<double>(cap_left) / static_cast<double>(cap_all) : 0.5;
  const int64_t target = static_cast<int64_t>(std::llround(static_cast<double>(g.total_load) * share));
  const double depth = std::max(1.0, std::ceil(std::log2(static_cast<double>(a))));
  auto loosened = [&](int64_t aim, int64_t limit) {
    return std::max(aim, std::min(limit, aim + static_cast<int64_t>(static_cast<double>(limit - aim) / depth)));
  };
  const int64_t caps[2] = {loosened(target, cap_left), loosened(g.total_load - target, cap_right)};
  const std::vector<int32_t> side = bisect(g, target, caps, tries, rng, control);
  std::vector<int32_t> local(g.n), members[2];
  for (int32_t v = 0; v < g.n; ++v) {
    local[v] = static_cast<int32_t>(members[side[v]].size());
    members[side[v]].push_back(v);
  }
  for (int32_t s = 0; s < 2; ++s) {
    const WorkGraph<W> sub = induced(g, members[s], side.data(), s, local.data());
    std::vector<int32_t> global(members[s].size());
    for (size_t i = 0; i < global.size(); ++i) global[i] = vertex[members[s][i]];
    recursive_bisection(sub, s == 0 ? cap.first(left) : cap.subspan(left), s == 0 ? first : first + static_cast<int32_t>(left),
                        tries, rng, control, global, part);
  }
}

}  // namespace hopbytes
