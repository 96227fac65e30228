// A partition of a graph under moves of single vertices: blocks, loads, boundary, gains. Mapping is
// partitioning under the distances of the PEs.
#pragma once
#include <limits>

#include "partition/connectivity.hpp"

namespace hopbytes {

// Neighbours of a larger degree are not re-evaluated at every move, because evaluating a vertex costs
// O(degree).
constexpr int32_t kHubDegree = 512;

template <class W> class Partition {
 public:
  struct Choice {
    int32_t block = -1;
    int64_t gain = std::numeric_limits<int64_t>::min();
  };

  // The maximum block weights are kept by reference. `threads` share what reads the whole graph.
  Partition(const AnyDistance& distance, std::span<const int64_t> max_block_weight,
            Team& team = Team::alone())
      : distance_(distance),
        k_(static_cast<int32_t>(max_block_weight.size())),
        max_block_weight_(max_block_weight),
        team_(team),
        load_(k_, 0),
        connectivity_(k_) {}

  void set_max_block_weights(std::span<const int64_t> max_block_weight) {
    max_block_weight_ = max_block_weight;
  }

  // Takes the blocks of the vertices of a graph, which is kept by reference. O(n).
  void assign(const Graph<W>& g, std::vector<int32_t> block);
  // Becomes the same partition of the graph that was contracted by `map` to the present one. O(n).
  void project(const Graph<W>& finer, std::span<const int32_t> map);
  // Has to be called after blocks() was changed. O(n).
  void blocks_were_changed();
  // The same if only `moved` have other blocks than before and the loads are known; the known boundary is
  // updated. O(boundary + arcs of `moved`).
  void blocks_were_changed(std::span<const int32_t> moved, const std::vector<int64_t>& loads);
  // The same after moves of vertices that may_be_boundary() marks, of which the neighbours are marked, too.
  void moved_near_boundary(const std::vector<int64_t>& loads);
  // 1 for every vertex that may be on the boundary. O(n) unless it was known.
  std::span<uint8_t> may_be_boundary();
  // Hands the blocks over; the next call has to be assign().
  std::vector<int32_t> take_blocks() { return std::exchange(block_, {}); }

  const Graph<W>& graph() const { return *g_; }
  const AnyDistance& distance() const { return distance_; }
  int32_t k() const { return k_; }
  std::vector<int32_t>& blocks() { return block_; }
  const std::vector<int32_t>& blocks() const { return block_; }
  int32_t block(int32_t v) const { return block_[v]; }
  // Whether the present graph was reached by project().
  bool projected() const { return projected_; }

  std::span<const int64_t> max_block_weights() const { return max_block_weight_; }
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

  // Finds the boundary, unless it is known, and prepares moves; refiners that use neither need not call it.
  // After project() only vertices that were contracted to a boundary vertex are looked at. O(n + arcs looked
  // at).
  void find_boundary();
  // The vertices with a neighbour in another block or a cheaper linear assignment cost elsewhere, ascending.
  const std::vector<int32_t>& boundary() const { return boundary_; }
  // Updates the boundary after `moved` have moved, and lists its vertices among them and their neighbours.
  void update_boundary(std::span<const int32_t> moved, std::vector<int32_t>& near_moves);
  bool allows(int32_t v, int32_t b) const { return !linear_cost_ || linear_cost_->allows(v, b); }

  // Returns the best permitted block for v among the adjacent blocks with room and those with a linear
  // assignment cost of their own. Ties go to the block with the smaller load. A block that v need not leave
  // may be overloaded by `slack`.
  Choice choose(int32_t v, int64_t slack) {
    if (by_row_) {
      const W* row = connectivity_.row(v, scanned_edges_);
      return choose_from(row, g_->load[v], block_[v], load_, slack);
    }
    scanned_edges_ += connectivity_.select(v);
    return choose_from(connectivity_, v, block_[v], load_, slack);
  }

  // The same for a vertex in block `own` among blocks of other loads: from its row and its load if by_row(),
  // else from the selected weights.
  bool by_row() const { return by_row_; }
  Choice choose_from(const W* row, int64_t vertex_load, int32_t own, const std::vector<int64_t>& load,
                     int64_t slack) const;
  Choice choose_from(Connectivity<W>& near, int32_t v, int32_t own, const std::vector<int64_t>& load,
                     int64_t slack) const;

  // Rows of weights of searches that leave the partition as it is, see Connectivity.
  const W* known_row(int32_t v) const { return connectivity_.known_row(v); }
  void keep_row(int32_t v, const W* row) { connectivity_.keep_row(v, row); }

  // Returns the gain of moving v to block b.
  int64_t gain(int32_t v, int32_t b) {
    connectivity_.select(v);
    return cost(connectivity_, v, block_[v]) - cost(connectivity_, v, b);
  }

  // Moves v; the boundary is not updated. O(degree).
  void move(int32_t v, int32_t to) { connectivity_.moved(v, assign_block(v, to), to); }
  // The same, and calls visit(u) for each neighbour u as soon as choose(u) speaks of the time after the move.
  template <class Visit> void move(int32_t v, int32_t to, Visit visit) {
    connectivity_.moved(v, assign_block(v, to), to, visit);
  }

  // Returns the cost. The boundary suffices, because it contains both ends of every cut edge.
  int64_t cost_at_boundary() const;

  // Whether loads, cached rows and the boundary, if it is known, are those of the blocks. O(n + m).
  bool verify() const;

  // Since the construction.
  int64_t moves() const { return moves_; }
  int64_t scanned_edges() const { return scanned_edges_; }

 private:
  bool on_boundary(int32_t v) const {
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
      if (block_[g_->adj[e]] != block_[v]) return true;
    return has_cheaper_block(v);
  }
  bool has_cheaper_block(int64_t v) const {
    return linear_cost_ && linear_cost_->has_cheaper_block(v, block_[v]);
  }

  // Returns the block that v was in.
  int32_t assign_block(int32_t v, int32_t to) {
    const int32_t from = block_[v];
    load_[from] -= g_->load[v];
    load_[to] += g_->load[v];
    block_[v] = to;
    scanned_edges_ += g_->degree(v);
    ++moves_;
    return from;
  }

  // Returns the cost of the vertex v that is selected in `near` on block b. The penalty of a forbidden block
  // is left out: sums of gains could overflow with it.
  int64_t cost(const Connectivity<W>& near, int32_t v, int32_t b) const {
    const int64_t edges = near.cost(distance_, b);
    if (!linear_cost_) return edges;
    const int64_t here = (*linear_cost_)(v, b);
    return here >= LinearCost::kForbidden ? edges : edges + here;
  }

  void use_graph(const Graph<W>& g);
  void sum_loads();

  AnyDistance distance_;
  int32_t k_;
  std::span<const int64_t> max_block_weight_;
  Team& team_;
  const Graph<W>* g_ = nullptr;
  const LinearCost* linear_cost_ = nullptr;
  bool projected_ = false;
  bool by_row_ = false;  // whether the row of a vertex decides its choice
  std::vector<int32_t> block_;
  std::vector<int64_t> load_;
  Connectivity<W> connectivity_;
  std::vector<int32_t> boundary_;
  bool boundary_known_ = false;
  UnsetVector<uint8_t> may_be_boundary_;  // the only vertices that can be; empty: all
  std::vector<uint8_t> mark_;             // 0 between calls
  std::vector<int32_t> suspects_;
  int64_t moves_ = 0, scanned_edges_ = 0;
};

// Where the cost is the edge cut alone and all weights of v are in its row: most of the time of cuts into few
// blocks is spent here.
template <class W>
inline typename Partition<W>::Choice Partition<W>::choose_from(const W* weight, int64_t vertex_load,
                                                               int32_t own, const std::vector<int64_t>& load,
                                                               int64_t slack) const {
  const int32_t k = k_;
  const int64_t *loads = load.data(), *limit = max_block_weight_.data();
  const int64_t more = vertex_load - (loads[own] > limit[own] ? 0 : slack);
  if (k == 2) {
    const int32_t b = 1 - own;
    if (weight[b] <= 0 || loads[b] + more > limit[b]) return {};
    return {b, int64_t{weight[b]} - weight[own]};
  }
  int32_t best = -1;
  W most = 0;
  int64_t least = std::numeric_limits<int64_t>::min();  // A block that is not adjacent is no candidate.
  for (int32_t b = 0; b < k; ++b) {  // Branch-free, because comparisons are unpredictable.
    const bool fits = (b != own) & (loads[b] + more <= limit[b]);
    const bool better = fits & ((weight[b] > most) | ((weight[b] == most) & (loads[b] < least)));
    best = better ? b : best;
    most = better ? weight[b] : most;
    least = better ? loads[b] : least;
  }
  return best < 0 ? Choice{} : Choice{best, int64_t{most} - weight[own]};
}

template <class W>
inline typename Partition<W>::Choice Partition<W>::choose_from(Connectivity<W>& near, int32_t v, int32_t own,
                                                               const std::vector<int64_t>& load,
                                                               int64_t slack) const {
  Choice best;
  int64_t own_cost = -1;
  const bool must_leave = load[own] > max_block_weight_[own];
  auto consider = [&](int32_t b) {
    // The slack is subtracted on the left, because a maximum block weight may be as large as an int64.
    if (b == own || load[b] + g_->load[v] - (must_leave ? 0 : slack) > max_block_weight_[b]) return;
    if (!allows(v, b)) return;
    if (own_cost < 0) own_cost = cost(near, v, own);
    const int64_t gain = own_cost - cost(near, v, b);
    if (gain > best.gain || (gain == best.gain && load[b] < load[best.block])) best = {b, gain};
  };
  for (const int32_t b : near.candidate_blocks()) consider(b);
  if (linear_cost_)
    for (const int32_t b : linear_cost_->listed(v)) consider(b);
  return best;
}

}  // namespace hopbytes
