// Assigns vertices to the blocks of which they have the largest shares, within limits of the loads.
#pragma once
#include <cmath>
#include <numeric>

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
  // The maximum block weights are kept by reference.
  Auction(const GraphShape& g, std::span<const int64_t> max_block_weight, const Control& control)
      : g_(g), max_block_weight_(max_block_weight), control_(control), price_(max_block_weight.size(), 0.0) {
    const double room = std::accumulate(max_block_weight.begin(), max_block_weight.end(), 0.0);
    for (const int64_t most : max_block_weight)
      fair_.push_back(std::max(1.0, static_cast<double>(most) / room * static_cast<double>(g.total_load)));
  }

  struct Result {
    int64_t moved = 0;     // vertices whose block is another one than before
    int64_t overload = 0;  // the sum over all blocks
  };

  // Writes the block of every vertex. Starts from the prices of the call before. O(n) per change of the
  // prices, which change at most kMostChanges times.
  Result assign(const BlockShares& shares, std::vector<int32_t>& block) {
    std::vector<int64_t> undivided(price_.size(), 0);
    divided_.clear();
    for (int32_t v = 0; v < g_.n; ++v)
      if (shares.undivided(v)) undivided[shares.first_block(v)] += g_.load[v];
      else divided_.push_back(v);
    choice_.resize(divided_.size());
    double rate = 0.3;
    for (int32_t change = 0; change < kMostChanges && !control_.should_stop(); ++change, rate *= 0.96) {
      constexpr int64_t range = 1 << 13;
      const auto choose = [&](int32_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) choice_[i] = best_block(shares.of(divided_[i]));
      };
      parallel_ranges(std::ssize(divided_), range, control_.team(), choose);
      load_ = undivided;
      for (size_t i = 0; i < divided_.size(); ++i) load_[choice_[i]] += g_.load[divided_[i]];
      control_.record_parallel_work(std::ssize(divided_), std::min<int64_t>(range, std::ssize(divided_)));
      if (!change_prices(rate)) break;
    }
    Result result;
    for (size_t b = 0; b < load_.size(); ++b)
      result.overload += std::max<int64_t>(0, load_[b] - max_block_weight_[b]);
    auto put = [&](int32_t v, int32_t to) {
      result.moved += block[v] != to;
      block[v] = to;
    };
    for (int32_t v = 0; v < g_.n; ++v)
      if (shares.undivided(v)) put(v, shares.first_block(v));
    for (size_t i = 0; i < divided_.size(); ++i) put(divided_[i], choice_[i]);
    return result;
  }

 private:
  static constexpr int32_t kMostChanges = 40;

  int32_t best_block(std::span<const BlockShare> shares) const {
    int32_t best = shares[0].block;
    double most = shares[0].value - price_[best];
    for (const BlockShare& share : shares.subspan(1))
      if (const double worth = share.value - price_[share.block]; worth > most)
        most = worth, best = share.block;
    return best;
  }

  // Returns whether a load is farther from its limits than half a vertex and half a per cent.
  bool change_prices(double rate) {
    constexpr double least = 0.93;  // load of a block over its fair one
    constexpr double near = 0.005;
    const double tolerance =
        std::max(1.0, 0.5 * static_cast<double>(g_.total_load) / static_cast<double>(g_.n));
    bool missed = false;
    for (size_t b = 0; b < price_.size(); ++b) {
      const auto load = static_cast<double>(load_[b]);
      const auto most = static_cast<double>(max_block_weight_[b]);
      const double excess = load - std::clamp(load, std::min(most, least * fair_[b]), most);
      missed |= std::abs(excess) > std::max(tolerance, near * fair_[b]);
      price_[b] += rate * excess / fair_[b];
    }
    return missed;
  }

  const GraphShape& g_;
  std::span<const int64_t> max_block_weight_;
  const Control& control_;
  std::vector<double> fair_;   // the load of each block in proportion to its maximum weight
  std::vector<double> price_;
  std::vector<int64_t> load_;
  std::vector<int32_t> divided_, choice_;  // vertices with several shares, and the blocks they choose
};

}  // namespace hopbytes
