// Refinement of the cost by rounds of moves that several threads find.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/graph.hpp"
#include "util/control.hpp"
#include "util/sparse_sums.hpp"

namespace hopbytes {

// Moves vertices between blocks in synchronous rounds, after Jet (Gilbert, Madduri, Boman, Rajamanickam
// 2024) under the distances of the blocks. In a round every active vertex chooses the adjacent block with
// the largest gain as all blocks were before the round; a loss is tolerated up to a share of what its edges
// inside its block will cost. Then it computes its gain again, as if neighbours with a larger gain (of
// equal ones those with a smaller number) had already moved, and moves unless that is a loss (the
// afterburner). If more vertices want to enter a block than fit, those with the largest gains do, where
// room that others leave behind counts; after a round with hardly a better best only blocks with room are
// chosen, and after three such rounds in turn the search ends. Vertices that have moved rest for a round.
// Active are in the first round the vertices near a boundary, later those that moved or were refused, and
// neighbours of those that moved. The partition of the best round is kept: no block is overloaded that was
// not, the cost never rises, and the result does not depend on the number of threads.
class SynchronousMoves {
 public:
  // Everything is kept by reference. `near_boundary` is 1 for all vertices with a neighbour in another block,
  // and for others perhaps; it stays so, and the first round unmarks those that have none.
  // The distance must not be flat. Only what is compiled with run_round() depends on the types of weights and
  // distances.
  template <class W>
  SynchronousMoves(const Graph<W>& g, const AnyDistance& distance, std::span<const int64_t> max_block_weight,
                   std::span<int32_t> block, std::span<uint8_t> near_boundary, Team& team);

  // Runs at most so many rounds. Returns the number of moves. O(degrees of the active vertices x adjacent
  // blocks) per round.
  int64_t refine(int32_t rounds, const Control& control);
  // Of each block after the moves.
  const std::vector<int64_t>& loads() const { return load_; }

 private:
  struct Move {
    int32_t vertex, from;
  };

  void collect_active();
  void start();
  template <class W, class D> int64_t run_round(const Graph<W>& g, const D& distance);
  template <class W, class D> void choose(int32_t v, const Graph<W>& g, const D& distance, SparseSums& sums);
  void propose(int32_t v, int32_t target, int64_t gain, int64_t cost_inside);
  void list_candidates();
  template <class W, class D> void confirm(int32_t v, const Graph<W>& g, const D& distance);
  void keep_to_capacity();
  template <class W, class D>
  int64_t twice_the_change(int32_t v, const Graph<W>& g, const D& distance) const;
  void make_moves();
  void apply(int32_t v);
  void undo_moves();
  template <class Work> void for_each(const std::vector<int32_t>& vertices, Work work);
  bool before(int32_t u, int32_t v) const { return gain_[u] != gain_[v] ? gain_[u] > gain_[v] : u < v; }
  bool has_room(int32_t b, int32_t v) const {
    return (only_with_room_ ? room(b) : max_block_weight_[b]) >= g_.load[v];
  }
  int64_t room(int32_t b) const { return max_block_weight_[b] - load_[b]; }

  const GraphShape& g_;
  std::function<int64_t()> round_;  // calls run_round()
  std::span<const int64_t> max_block_weight_;
  std::span<int32_t> block_;
  std::span<uint8_t> near_boundary_;
  Team& team_;
  bool first_round_ = true;  // in which marks of vertices inside blocks are removed
  bool only_with_room_ = false;  // whether vertices choose among the blocks with room
  std::vector<int64_t> load_;  // of each block
  std::vector<int32_t> active_;  // ascending
  std::vector<int32_t> candidates_;  // the active vertices that want to move
  std::vector<int32_t> target_;  // of a candidate; -1 for all other vertices
  UnsetVector<int64_t> gain_;  // of a candidate
  std::vector<uint8_t> confirmed_, is_active_, rests_;
  std::vector<int64_t> incoming_;  // load that wants to enter each block
  std::vector<SparseSums> sums_;  // of each worker
  std::vector<Move> undo_;  // the moves since the best round
};

}  // namespace hopbytes
