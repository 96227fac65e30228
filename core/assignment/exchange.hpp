// Exchanges of two tasks: what they change, whether they are permitted, and the costs that make both cheap.
#pragma once
#include "graph/csr.hpp"
#include "graph/distance.hpp"
#include "graph/graph.hpp"
#include "util/assert.hpp"

namespace hopbytes {

struct SearchCounts {
  // `work` counts all edges of evaluated tasks, scanned or not: efforts are limited by it.
  int64_t evaluations = 0, swaps = 0, work = 0, scanned = 0;
  // Sufficient to finish on sparse patterns. It bounds the time to seconds where a thousand tasks all
  // communicate in different amounts, which offers small gains for many minutes.
  int64_t work_left = 0;

  void add(const SearchCounts& more) {
    evaluations += more.evaluations, swaps += more.swaps;
    work += more.work, scanned += more.scanned, work_left -= more.work;
  }
};

// The position of a task in the form that makes distances cheapest: the label of its PE in a tree (one
// look-up less per neighbour), the number of the PE in a table, label and coordinates on a network.
inline uint64_t place_of(const TreeDistance& tree, int32_t pe) { return tree.label[pe]; }
inline int64_t between(const TreeDistance& tree, uint64_t a, uint64_t b) {
  return tree.bit_cost[std::bit_width(a ^ b)];
}
inline int32_t place_of(const TableDistance&, int32_t pe) { return pe; }
inline int64_t between(const TableDistance& table, int32_t a, int32_t b) { return table(a, b); }
inline NetworkDistance::Place place_of(const NetworkDistance& network, int32_t pe) {
  return network.place_of(pe);
}
inline int64_t between(const NetworkDistance& network, const NetworkDistance::Place& a,
                       const NetworkDistance::Place& b) {
  return network(a, b);
}

// A mapping whose tasks exchange their PEs. The share of every task in the cost, the sum over its
// neighbours of weight times distance, is kept up to date, so that evaluating an exchange reads each
// neighbour once, for the new position only.
template <class W, class D> class Exchange {
 public:
  using Place = decltype(place_of(std::declval<const D&>(), int32_t{}));

  Exchange(const Graph<W>& graph, const D& distance, In<int64_t> capacity, Out<int32_t> pe)
      : g_(graph),
        distance_(distance),
        capacity_(capacity),
        pe_(pe),
        place_(graph.n),
        share_(graph.n),
        held_(capacity.size(), 0) {
    std::vector<int32_t> tasks(capacity.size(), 0);
    for (int64_t v = 0; v < g_.n; ++v) {
      place_[v] = place_of(distance_, pe[v]);
      held_[pe[v]] += g_.load[v];
      ++tasks[pe[v]];
    }
    for (int32_t v = 0; v < g_.n; ++v) share_[v] = cost_at(v, place_[v]) + assignment_cost(v, pe[v]);
    const bool single = tasks.empty() || *std::max_element(tasks.begin(), tasks.end()) <= 1;
    if constexpr (std::is_same_v<D, TreeDistance>)
      if (!g_.linear_cost) farthest_alike_ = single ? distance.bit_cost[1] : 0;
  }

  // From now on the mapping is in another array, which becomes a copy of it.
  void continue_in(Out<int32_t> pe) {
    std::copy(pe_.begin(), pe_.end(), pe.begin());
    pe_ = pe;
  }

  const Graph<W>& graph() const { return g_; }
  const D& distance() const { return distance_; }
  int32_t pe(int32_t v) const { return pe_[v]; }
  In<int32_t> pes() const { return pe_; }
  Place place(int32_t v) const { return place_[v]; }
  int64_t share(int32_t v) const { return share_[v]; }
  // Up to this distance two PEs are equally far from all others, so that an exchange changes nothing: these
  // are the innermost units of a tree if every PE holds at most one task. The value is negative if all PEs
  // differ: in tables, or because of linear assignment costs.
  int64_t farthest_alike() const { return farthest_alike_; }

  // Returns the linear assignment cost of u on a PE.
  int64_t assignment_cost(int32_t u, int32_t pe) const {
    return g_.linear_cost ? (*g_.linear_cost)(u, pe) : 0;
  }

  // Returns the communication cost of u at a position if its neighbours stay. O(degree).
  int64_t cost_at(int32_t u, Place at) const {
    int64_t cost = 0;
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e)
      cost += g_.weight[e] * between(distance_, at, place_[g_.adj[e]]);
    return cost;
  }

  // Returns whether exchanging u and v can change the cost and respects the maximum loads.
  bool allowed(int32_t u, int32_t v) const {
    return pe_[u] != pe_[v] && between(distance_, place_[u], place_[v]) > farthest_alike_ && fit(u, v);
  }

  // Returns the change of the cost (every edge once) if u and v exchange their PEs. Each task is evaluated as
  // if the other one stayed, at distance 0. The edge between them keeps its length, which the last term
  // accounts for.
  int64_t delta(int32_t u, int32_t v) const {
    const Place p = place_[u], q = place_[v];
    int64_t change = assignment_cost(u, pe_[v]) + assignment_cost(v, pe_[u]) - share_[u] - share_[v],
            shared = 0;
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) {
      const int32_t w = g_.adj[e];
      change += g_.weight[e] * between(distance_, q, place_[w]);
      shared += w == v ? g_.weight[e] : 0;
    }
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
      change += g_.weight[e] * between(distance_, p, place_[g_.adj[e]]);
    return shared ? change + 2 * shared * between(distance_, p, q) : change;
  }

  // Exchanges u and v. O(degrees).
  void apply(int32_t u, int32_t v) {
    const Place p = place_[u], q = place_[v];
    move(u, p, q);
    move(v, q, p);
    held_[pe_[u]] += g_.load[v] - g_.load[u];
    held_[pe_[v]] += g_.load[u] - g_.load[v];
    std::swap(pe_[u], pe_[v]);
    share_[u] += assignment_cost(u, pe_[u]);
    share_[v] += assignment_cost(v, pe_[v]);
    for ([[maybe_unused]] const int32_t w : {u, v})
      HOPBYTES_CHECK(share_[w] == cost_at(w, place_[w]) + assignment_cost(w, pe_[w]));
  }

 private:
  bool fit(int32_t u, int32_t v) const {
    const int32_t p = pe_[u], q = pe_[v];
    if (g_.linear_cost && !(g_.linear_cost->allows(u, q) && g_.linear_cost->allows(v, p))) return false;
    const int64_t shift = g_.load[v] - g_.load[u];
    if (shift == 0) return true;
    return shift > 0 ? held_[p] + shift <= capacity_[p] : held_[q] - shift <= capacity_[q];
  }

  void move(int32_t u, Place from, Place to) {
    int64_t cost = 0;
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) {
      const int32_t w = g_.adj[e];
      const int64_t now = between(distance_, to, place_[w]);
      share_[w] += g_.weight[e] * (now - between(distance_, from, place_[w]));
      cost += g_.weight[e] * now;
    }
    share_[u] = cost;
    place_[u] = to;
  }

  const Graph<W>& g_;
  const D distance_;
  In<int64_t> capacity_;
  Out<int32_t> pe_;
  std::vector<Place> place_;
  std::vector<int64_t> share_, held_;
  int64_t farthest_alike_ = -1;
};

}  // namespace hopbytes
