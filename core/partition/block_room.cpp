#include "partition/block_room.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hopbytes {

BlockRoom::BlockRoom(std::span<const int64_t> max_block_weight)
    : max_block_weight_(max_block_weight),
      smallest_weight_(*std::min_element(max_block_weight.begin(), max_block_weight.end())) {}

bool BlockRoom::is_divisible(const GraphShape& g) const {
  return !g.linear_cost && g.total_load > 0 && g.max_load <= smallest_weight_ / 8 && total_slack(g) >= 0;
}

// All three constants were measured.
bool BlockRoom::is_tight(const GraphShape& g) const {
  constexpr int64_t few_blocks = 16, few_vertices = 96;
  const auto k = std::ssize(max_block_weight_);
  if (!is_divisible(g) || (k > few_blocks && g.n < few_vertices * k)) return false;
  const double vertex = static_cast<double>(g.total_load) / static_cast<double>(g.n);
  const auto blocks = static_cast<double>(k);
  const double side = vertex * std::sqrt(static_cast<double>(g.n) / blocks);
  return total_slack(g) / blocks < 0.8 * side;
}

double BlockRoom::total_slack(const GraphShape& g) const {
  return std::accumulate(max_block_weight_.begin(), max_block_weight_.end(), 0.0) -
         static_cast<double>(g.total_load);
}

}  // namespace hopbytes
