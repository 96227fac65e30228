// Refinement of the cost by rounds of moves that several threads find.
#pragma once
#include <cstdlib>
#include <span>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/graph.hpp"
#include "util/control.hpp"
#include "util/sparse_sums.hpp"

namespace hopbytes {

// A partition of a graph by arrays, which rounds of moves change in place.
template <class W> struct PartitionArrays {
  const Graph<W>& graph;
  std::vector<int32_t>& block;
  std::vector<int64_t>& load;            // of each block
  std::vector<uint8_t>& near_boundary;   // includes all vertices with a neighbour in another block
};

// Moves vertices between blocks in synchronous rounds. In a round every active vertex chooses the adjacent block
// with the largest gain as all blocks were before the round. Then it computes its gain again, as if neighbours
// with a larger gain (of equal ones those with a smaller number) had already moved (the afterburner of Jet:
// Gilbert, Madduri, Boman, Rajamanickam 2024), and moves if that is still a gain and the block has room; if more
// vertices want to enter a block than fit, those with the largest gains do. Active are in the first round the
// vertices near a boundary, later those that moved and their neighbours. No block is overloaded, the cost never
// rises, and the result does not depend on the number of threads. Linear assignment costs are ignored.
template <class W> class SynchronousMoves {
 public:
  // The maximum block weights are kept by reference.
  SynchronousMoves(const AnyDistance& distance, std::span<const int64_t> max_block_weight, int32_t rounds,
                   int32_t threads)
      : distance_(distance),
        max_block_weight_(max_block_weight),
        rounds_(rounds),
        threads_(threads),
        incoming_(max_block_weight.size()),
        sums_(std::max(threads, 1)) {}

  // O(degrees of the active vertices x adjacent blocks) per round. Returns the number of moves.
  int64_t refine(PartitionArrays<W> partition, const Control& control);

 private:
  template <class D> void choose(const PartitionArrays<W>& partition, const D& distance);
  template <class D> void confirm(const PartitionArrays<W>& partition, const D& distance);
  void keep_to_capacity(const PartitionArrays<W>& partition);
  template <class D> int64_t change_of_cost(const PartitionArrays<W>& partition, const D& distance);
  void apply(PartitionArrays<W>& partition);
  void collect_active(int64_t n);
  template <class Work> void for_each(const std::vector<int32_t>& vertices, Work work) const;
  bool before(int32_t u, int32_t v) const {
    return gain_[u] != gain_[v] ? gain_[u] > gain_[v] : u < v;
  }

  AnyDistance distance_;
  std::span<const int64_t> max_block_weight_;
  int32_t rounds_, threads_;
  std::vector<int32_t> active_;     // ascending
  std::vector<int32_t> candidates_;  // the active vertices that want to move
  std::vector<int32_t> target_;      // of a candidate; -1 for all other vertices
  std::vector<int64_t> gain_;        // of a candidate
  std::vector<uint8_t> confirmed_, is_active_, locked_;
  struct Move {
    int32_t vertex, from;
  };
  std::vector<Move> undo_;
  int64_t tolerance_ = getenv("TOL") ? atoi(getenv("TOL")) : 1;
  std::vector<int64_t> incoming_;  // load that wants to enter each block
  std::vector<SparseSums> sums_;   // of each worker
};

}  // namespace hopbytes
