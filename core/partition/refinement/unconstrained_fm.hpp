// FM that may overload blocks for a while.
#pragma once
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"
#include "util/portable_math.hpp"

namespace hopbytes {

// Unconstrained FM (Maas, Gottesbüren, Seemaier 2024): refines under looser maximum block weights, then under
// the true ones, which moves vertices out of the overloaded blocks. The result is kept if it costs less. This
// leaves local optima that exist only because the maximum block weights are tight. During one uncoarsening
// the permitted overload shrinks after every attempt without a gain.
template <class W> class UnconstrainedFm : public Refiner<W> {
 public:
  UnconstrainedFm(const FmContext& context, int32_t overload_percent)
      : fm_(context), most_percent_(overload_percent), percent_(overload_percent) {}

  void start() override { percent_ = most_percent_; }

  void refine(Partition<W>& partition, Rng& rng, const Control& control) override {
    constexpr int32_t smallest_overload = 10;
    if (partition.overload() > 0) return;
    partition.find_boundary();
    const Graph<W>& g = partition.graph();
    const std::span<const int64_t> limit = partition.max_block_weights();
    std::vector<int64_t> loose(limit.begin(), limit.end());
    for (int64_t& max_block_weight : loose)  // No block can hold more than the total load.
      for (const int64_t more : {percent_of(max_block_weight, percent_), g.max_load})
        max_block_weight += std::max<int64_t>(0, std::min(g.total_load - max_block_weight, more));
    const std::vector<int32_t> before = partition.blocks();
    const std::vector<int64_t> loads = partition.loads();
    const int64_t cost = partition.cost_at_boundary();
    partition.set_max_block_weights(loose);
    fm_.refine(partition, rng, control);
    partition.set_max_block_weights(limit);
    rebalance_.refine(partition, rng, control);
    fm_.refine(partition, rng, control);
    if (partition.overload() == 0 && partition.cost_at_boundary() < cost) return;
    if (percent_ > smallest_overload) percent_ = std::max(smallest_overload, percent_ / 3);
    std::vector<int32_t> moved;
    for (int32_t v = 0; v < g.n; ++v)
      if (partition.block(v) != before[v]) moved.push_back(v), partition.blocks()[v] = before[v];
    partition.blocks_were_changed(moved, loads);
  }

 private:
  Rebalance<W> rebalance_;
  LocalFm<W> fm_;
  int32_t most_percent_;
  int32_t percent_;  // by which the next attempt may overload the blocks
};

}  // namespace hopbytes
