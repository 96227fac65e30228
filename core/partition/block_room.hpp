// The room that the maximum weights of blocks leave beyond the load of a graph.
#pragma once
#include <cstdint>
#include <span>

#include "graph/graph.hpp"

namespace hopbytes {

class BlockRoom {
 public:
  // The maximum block weights are kept by reference.
  explicit BlockRoom(std::span<const int64_t> max_block_weight);

  // The least of the maximum weights.
  int64_t smallest_weight() const { return smallest_weight_; }

  // Returns whether blocks of equal sizes are possible: every vertex is small compared with every block, and
  // all vertices fit.
  bool is_divisible(const GraphShape& g) const;

  // Returns whether a block has less room than one of its sides needs to move by about one vertex. Many
  // blocks of few vertices are better partitioned the other way.
  bool is_tight(const GraphShape& g) const;

 private:
  double total_slack(const GraphShape& g) const;

  std::span<const int64_t> max_block_weight_;
  int64_t smallest_weight_;
};

}  // namespace hopbytes
