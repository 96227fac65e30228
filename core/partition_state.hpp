// A partition under moves of single vertices: loads, gains, and the best block for a vertex.
#pragma once
#include <limits>

#include "connectivity.hpp"

namespace hopbytes {

// Neighbours of a larger degree are not re-evaluated at every move, because evaluating a vertex costs
// O(degree).
constexpr int32_t kHubDegree = 512;

template <class W, class D> class PartitionState {
 public:
  struct Choice { int32_t block = -1; int64_t gain = std::numeric_limits<int64_t>::min(); };

  PartitionState(D distance, int64_t k, const int64_t* max_block_weight)
      : distance_(distance), k_(k), max_block_weight_(max_block_weight), load_(k, 0), connectivity_(k) {}

  // Ignores linear assignment costs, for partitions into other blocks than those the costs refer to.
  void ignore_linear_costs() { edges_only_ = true; }

  // Sets the maximum block weights for the following calls (k entries, kept by reference).
  void set_max_block_weights(const int64_t* max_block_weight) { max_block_weight_ = max_block_weight; }

  // Attaches the partition of a graph, which is kept by reference and changed in place.
  void attach(const WorkGraph<W>& g, int32_t* part) {
    g_ = &g, part_ = part;
    linear_cost_ = edges_only_ ? nullptr : g.linear_cost.get();
    connectivity_.attach(g, part);
    std::fill(load_.begin(), load_.end(), 0);
    for (int64_t v = 0; v < g.n; ++v) load_[part[v]] += g.load[v];
  }

  const WorkGraph<W>& graph() const { return *g_; }
  int64_t k() const { return k_; }
  int32_t block(int32_t v) const { return part_[v]; }
  const std::vector<int64_t>& loads() const { return load_; }
  // Negative for an overloaded block.
  int64_t room(int32_t b) const { return max_block_weight_[b] - load_[b]; }
  bool overloaded(int32_t b) const { return load_[b] > max_block_weight_[b]; }
  int64_t excess(int32_t b) const { return std::max<int64_t>(0, load_[b] - max_block_weight_[b]); }
  int64_t overload() const {
    int64_t over = 0;
    for (int32_t b = 0; b < k_; ++b) over += excess(b);
    return over;
  }
  int64_t moves() const { return moves_; }
  int64_t scanned_edges() const { return scanned_edges_; }

  bool on_boundary(int32_t v) const {
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
      if (part_[g_->adj[e]] != part_[v]) return true;
    return has_cheaper_block(v);
  }
  bool has_cheaper_block(int64_t v) const {
    return linear_cost_ && linear_cost_->has_cheaper_block(v, part_[v]);
  }
  bool allows(int32_t v, int32_t b) const { return !linear_cost_ || linear_cost_->allows(v, b); }

  // Returns the best permitted block for v among the adjacent blocks with room and those with a linear
  // assignment cost of their own. Ties go to the block with the smaller load.
  Choice choose(int32_t v, int64_t slack) {
    scanned_edges_ += g_->degree(v);
    connectivity_.select(v);
    const int32_t own = part_[v];
    Choice best;
    int64_t own_cost = -1;
    const bool must_leave = overloaded(own);
    auto consider = [&](int32_t b) {
      // The slack is subtracted on the left, because a maximum block weight may be as large as an int64.
      if (b == own || load_[b] + g_->load[v] - (must_leave ? 0 : slack) > max_block_weight_[b]) return;
      if (!allows(v, b)) return;
      if (own_cost < 0) own_cost = cost(v, own);
      const int64_t gain = own_cost - cost(v, b);
      if (gain > best.gain || (gain == best.gain && load_[b] < load_[best.block])) best = {b, gain};
    };
    for (int32_t b : connectivity_.candidate_blocks()) consider(b);
    if (linear_cost_)
      for (int32_t b : linear_cost_->listed(v)) consider(b);
    return best;
  }

  // Returns the gain of moving v to block b.
  int64_t gain(int32_t v, int32_t b) {
    connectivity_.select(v);
    return cost(v, part_[v]) - cost(v, b);
  }

  void move(int32_t v, int32_t to) {
    load_[part_[v]] -= g_->load[v];
    load_[to] += g_->load[v];
    connectivity_.moved(v, part_[v], to);
    part_[v] = to;
    scanned_edges_ += g_->degree(v);
    ++moves_;
  }

  // Returns the cost of the partition. The boundary suffices, because it contains both ends of every cut
  // edge.
  int64_t total_cost(std::span<const int32_t> boundary) const {
    int64_t total = total_linear_cost(*g_, part_);
    for (int32_t v : boundary)
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        if (u > v && part_[u] != part_[v]) total += g_->weight[e] * distance_(part_[v], part_[u]);
      }
    return total;
  }

 private:
  // Returns the cost of the selected vertex v on block b. The penalty of a forbidden block is left out: sums
  // of gains could overflow with it.
  int64_t cost(int32_t v, int32_t b) const {
    const int64_t edges = connectivity_.cost(distance_, b);
    if (!linear_cost_) return edges;
    const int64_t here = (*linear_cost_)(v, b);
    return here >= LinearCost::kForbidden ? edges : edges + here;
  }

  D distance_;
  int64_t k_;
  const int64_t* max_block_weight_;
  const WorkGraph<W>* g_ = nullptr;
  const LinearCost* linear_cost_ = nullptr;
  bool edges_only_ = false;
  int32_t* part_ = nullptr;
  std::vector<int64_t> load_;
  Connectivity<W> connectivity_;
  int64_t moves_ = 0, scanned_edges_ = 0;
};

}  // namespace hopbytes
