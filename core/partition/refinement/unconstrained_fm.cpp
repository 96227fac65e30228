#include "partition/refinement/unconstrained_fm.hpp"

#include <algorithm>

#include "util/portable_math.hpp"

namespace hopbytes {

template <class W>
void UnconstrainedFm<W>::refine(Partition<W>& partition, Rng& rng, const Control& control) {
  constexpr int32_t smallest_overload = 10;
  if (partition.overload() > 0) return;
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  const std::span<const int64_t> limit = partition.max_block_weights();
  std::vector<int64_t> loose(limit.begin(), limit.end());
  for (int64_t& max_block_weight : loose)  // No block can hold more than the total load.
    for (const int64_t more : {percent_of(max_block_weight, percent_), g.max_load})
      max_block_weight += std::max<int64_t>(0, std::min(g.total_load - max_block_weight, more));
  const typename Partition<W>::Snapshot before = partition.snapshot();
  const int64_t cost = partition.cost_at_boundary();
  partition.set_max_block_weights(loose);
  fm_.refine(partition, rng, control);
  partition.set_max_block_weights(limit);
  rebalance_.refine(partition, rng, control);
  fm_.refine(partition, rng, control);
  if (partition.overload() == 0 && partition.cost_at_boundary() < cost) return;
  if (percent_ > smallest_overload) percent_ = std::max(smallest_overload, percent_ / 3);
  partition.restore(before);
}

template class UnconstrainedFm<int32_t>;
template class UnconstrainedFm<int64_t>;

}  // namespace hopbytes
