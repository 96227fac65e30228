// Assigns vertices to the blocks of which they have the largest shares, within limits of the loads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "partition/relaxation/block_shares.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Every block has a price, which is subtracted from its shares. It rises while the block is too heavy and
// falls while it is too light, so that the blocks keep about their sizes (auction dynamics: Jacobs,
// Merkurjev, Esedoglu 2018; there one vertex bids at a time, here all do). The limits may be missed: the
// assignment is a start for refinement.
class Auction {
 public:
  // The maximum block weights and the loads are kept by reference.
  Auction(const GraphShape& g, std::span<const int64_t> max_block_weight, const Control& control);

  struct Result {
    int64_t moved = 0;     // vertices whose block is another one than before
    int64_t overload = 0;  // the sum over all blocks
  };

  // Writes the block of every vertex. Starts from the prices of the call before. O(n) per change of the
  // prices, which change at most kMostChanges times.
  Result assign(const BlockShares& shares, std::vector<int32_t>& block);

 private:
  static constexpr int32_t kMostChanges = 40;

  int32_t best_block(std::span<const BlockShare> shares) const;
  bool change_prices(double rate);
  int64_t overload() const;

  const GraphShape& g_;
  std::span<const int64_t> max_block_weight_;
  const Control& control_;
  std::vector<double> fair_;   // the load of each block in proportion to its maximum weight
  std::vector<double> price_;
  std::vector<int64_t> load_;
  std::vector<int32_t> divided_, choice_;  // vertices with several shares, and the blocks they choose
};

}  // namespace hopbytes
