// Pairs of adjacent blocks whose minimum cuts may be computed at the same time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

// A pair of adjacent blocks: the range of its boundary vertices and the cost of its boundary.
struct AdjacentBlocks {
  int32_t a, b;
  size_t begin, end;
  int64_t cost;
};

// Two pairs {a, b} and {c, d} of four blocks depend on each other if a move from a to b changes the gain of a
// move from c to d. An edge between the moved vertices of weight w changes it by
//     w (d(a,c) - d(a,d) - d(b,c) + d(b,d)),
// which is 0 under flat distances, and in a tree for most pairs of different subtrees; and without edges
// between their blocks two pairs are independent under any distances.
class IndependentPairs {
 public:
  // Without `side_by_side` every pair is a batch of its own, unless distances are flat: to find out which
  // pairs depend on each other takes longer than the cuts of small graphs.
  IndependentPairs(const AnyDistance& distance, int64_t blocks, bool side_by_side)
      : distance_(distance),
        blocks_(blocks),
        side_by_side_(side_by_side),
        next_(blocks),
        owner_(blocks, -1) {}

  // Distributes pairs among batches: pairs of a batch are independent, and of two that are not, the one that
  // comes first is in the earlier batch. Blocks that were once adjacent count as adjacent.
  // O(pairs x pairs of the adjacent blocks).
  std::vector<std::vector<AdjacentBlocks>> batches(std::span<const AdjacentBlocks> pairs);

  // Moves make further blocks adjacent. Divides a batch into independent pairs and those that are so no
  // longer, each alone.
  std::vector<std::vector<AdjacentBlocks>> still_independent(const std::vector<AdjacentBlocks>& batch);

  // Has to be called with the vertices that have moved. O(their degrees).
  void record_moves(const GraphShape& g, const std::vector<int32_t>& block, std::span<const int32_t> moved);

 private:
  bool dependent(const AdjacentBlocks& p, const AdjacentBlocks& q) const {
    return distance_(p.a, q.a) - distance_(p.a, q.b) != distance_(p.b, q.a) - distance_(p.b, q.b);
  }
  void find_neighbours();
  int64_t batch_among_neighbours(std::span<const AdjacentBlocks> pairs, const AdjacentBlocks& pair,
                                 int64_t batch) const;

  AnyDistance distance_;
  int64_t blocks_;
  bool side_by_side_;
  std::vector<int64_t> next_;      // the first batch after those of each block
  std::vector<int64_t> adjacent_;  // a * blocks + b in both directions, ascending
  std::vector<int64_t> touched_;   // the same of moved vertices, since the last call of batches()
  std::vector<int64_t> first_;     // neighbours of each block in adjacent_
  std::vector<std::vector<size_t>> pairs_of_;  // those in batches, of each block
  std::vector<int64_t> batch_of_;              // of each of them
  std::vector<int64_t> owner_;                 // the pair of each block in one batch; -1 between calls
};

}  // namespace hopbytes
