// The graph that the engine works on: symmetric, without diagonal, both directions stored. Weights have 32 or
// 64 bits (template), sums always 64.
#pragma once
#include <mutex>

#include "graph/linear_cost.hpp"
#include "graph/weights.hpp"
#include "util/parallel.hpp"
#include "util/unset_vector.hpp"

namespace hopbytes {

// How many vertices a thread takes at once where threads share the vertices of a graph.
constexpr int64_t kVerticesPerRange = 1 << 13;

// What does not depend on the type of the weights: code that reads no weight is compiled once for all types.
struct GraphShape {
  int64_t n = 0;
  const int64_t* start = nullptr;  // n + 1
  const int32_t* adj = nullptr;
  Weights<int64_t> load;  // of the vertices
  int64_t total_load = 0;
  int64_t max_load = 0;
  // whether few edges weigh as much as all others, see weights_uneven; contraction keeps it
  bool uneven = false;
  std::shared_ptr<const LinearCost> linear_cost;  // null if edges are the only costs

  int64_t arcs() const { return start[n]; }
  int64_t degree(int64_t v) const { return start[v + 1] - start[v]; }

  void sum_loads(Team& team = Team::alone()) {
    total_load = load.all_one() ? n : 0;
    max_load = load.all_one() && n > 0 ? 1 : 0;
    if (load.all_one()) return;
    std::vector<std::pair<int64_t, int64_t>> found((n + kVerticesPerRange - 1) / kVerticesPerRange);
    parallel_ranges(n, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      int64_t sum = 0, most = 0;
      for (int64_t v = begin; v < end; ++v) {
        sum += load[v];
        most = std::max(most, load[v]);
      }
      found[begin / kVerticesPerRange] = {sum, most};
    });
    for (const auto& [sum, most] : found) {
      total_load += sum;
      max_load = std::max(max_load, most);
    }
  }
};

// Returns how many vertices a thread takes at once where the arcs of each are looked at: fewer of high
// degree.
inline int64_t vertices_per_range(const GraphShape& g) {
  constexpr int64_t arcs = 1 << 14, fewest = 32;
  const auto degree = std::max<int64_t>(1, g.arcs() / std::max<int64_t>(1, g.n));
  return std::clamp(arcs / degree, fewest, kVerticesPerRange);
}

// Returns the number of arcs of the range of `step` consecutive vertices that has the most.
inline int64_t most_arcs_of_range(const GraphShape& g, int64_t step) {
  int64_t most = 0;
  for (int64_t begin = 0; begin < g.n; begin += step)
    most = std::max(most, g.start[std::min(g.n, begin + step)] - g.start[begin]);
  return most;
}

// Returns whether nearly all vertices have the largest degree, as in a lattice. The least cuts of a lattice
// are straight, along axes that its coarse graphs no longer show.
inline bool is_lattice_like(const GraphShape& g) {
  const int64_t most = 11 * g.arcs() / std::max<int64_t>(1, 10 * g.n);  // a product of both could overflow
  for (int64_t v = 0; v < g.n; ++v)
    if (g.degree(v) > most) return false;
  return true;
}

template <class W> struct Graph : GraphShape {
  Graph() = default;
  Graph(Graph&&) = default;  // and no copies, which would refer to the arrays of the original
  Graph& operator=(Graph&&) = default;

  Weights<W> weight;  // of the arcs

  // Storage of graphs that own their arrays; empty for views.
  UnsetVector<int64_t> own_start;
  UnsetVector<int32_t> own_adj;
  UnsetVector<W> own_weight;
  UnsetVector<int64_t> own_load;

  // With `unit_weights` and `unit_loads` the arcs and the vertices weigh 1 each, without arrays.
  void allocate(int64_t vertices, int64_t arc_bound, bool unit_weights = false, bool unit_loads = false) {
    n = vertices;
    own_start = UnsetVector<int64_t>(vertices + 1);
    own_adj = UnsetVector<int32_t>(arc_bound);
    if (!unit_weights) own_weight = UnsetVector<W>(arc_bound);
    if (!unit_loads) own_load = UnsetVector<int64_t>(vertices);
    start = own_start.data();
    adj = own_adj.data();
    weight = unit_weights ? Weights<W>() : Weights<W>(own_weight.data());
    load = unit_loads ? Weights<int64_t>() : Weights<int64_t>(own_load.data());
  }
};

// Asks for the arcs of v, which will be read soon, where vertices are not visited in the order of their rows.
template <class W> void prefetch_arcs(const Graph<W>& g, int32_t v) {
  __builtin_prefetch(g.adj + g.start[v]);
  g.weight.prefetch(g.start[v]);
}

// Returns whether the standard deviation of the weights exceeds their mean. This is usually true if they span
// orders of magnitude, and never if they are similar.
template <class W> bool weights_uneven(const Graph<W>& g, Team& team = Team::alone()) {
  if (g.weight.all_one()) return false;
  constexpr int64_t kArcs = 1 << 17;  // of a thread at once
  unsigned __int128 sum = 0, squares = 0;  // exact, so that the order does not matter
  std::mutex adding;
  parallel_ranges(g.arcs(), kArcs, team, [&](int32_t, int64_t begin, int64_t end) {
    unsigned __int128 own_sum = 0, own_squares = 0;
    for (int64_t e = begin; e < end; ++e) {
      const auto w = static_cast<uint64_t>(g.weight[e]);
      own_sum += w;
      own_squares += static_cast<unsigned __int128>(w) * w;
    }
    const std::lock_guard<std::mutex> hold(adding);
    sum += own_sum;
    squares += own_squares;
  });
  const auto total = static_cast<double>(sum);
  return static_cast<double>(squares) * static_cast<double>(g.arcs()) > 2 * total * total;
}

// Returns the load of two average vertices.
inline int64_t average_pair(const GraphShape& g) {
  const int64_t average = g.total_load / std::max<int64_t>(1, g.n);
  return average + std::min(average, g.total_load - average);
}

// Returns the linear assignment costs of all vertices; larger than any other cost if a vertex is on a
// forbidden block.
inline int64_t total_linear_cost(const GraphShape& g, const int32_t* part) {
  if (!g.linear_cost) return 0;
  int64_t forbidden = 0;
  const int64_t sum = g.linear_cost->total(part, forbidden);
  return sum + std::min<int64_t>(forbidden, 4) * LinearCost::kForbidden;
}

// Returns the communication cost, every edge once, plus the linear assignment costs.
template <class W, class D>
int64_t placement_cost(const Graph<W>& g, const int32_t* pe, const D& distance) {
  int64_t total = total_linear_cost(g, pe);
  for (int64_t v = 0; v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
      if (g.adj[e] > v && pe[g.adj[e]] != pe[v]) total += g.weight[e] * distance(pe[v], pe[g.adj[e]]);
  return total;
}

// Returns the weight between different blocks, each edge once; both its arcs are stored, as in every
// Graph.
template <class W> int64_t edge_cut(const Graph<W>& g, const int32_t* part, Team& team = Team::alone()) {
  const int64_t sum = parallel_sum(g.n, kVerticesPerRange, team, [&](int64_t begin, int64_t end) {
    int64_t twice = 0;  // Branch-free, because it is unpredictable which edges are cut.
    for (int64_t v = begin; v < end; ++v) {
      const int32_t own = part[v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
        twice += (part[g.adj[e]] != own) * int64_t{g.weight[e]};
    }
    return twice;
  });
  return sum / 2;
}

}  // namespace hopbytes
