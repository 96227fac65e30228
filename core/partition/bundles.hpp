// Bundles of blocks, which are partitioned one after the other where there are many blocks, and sizes of
// blocks in proportion to their maximum weights.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hopbytes {

// Divides `blocks` blocks among bundles of consecutive blocks.
struct Bundles {
  std::vector<int64_t> first;             // of each bundle, and the number of blocks
  std::vector<int64_t> max_block_weight;  // of each bundle

  Bundles(std::span<const int64_t> block_weight, int64_t count, int64_t total_load)
      : first(count + 1, 0), max_block_weight(count) {
    const auto blocks = static_cast<int64_t>(block_weight.size());
    std::vector<int64_t> room(count, 0);
    for (int64_t j = 0; j < count; ++j) {
      first[j + 1] = blocks * (j + 1) / count;
      for (int64_t b = first[j]; b < first[j + 1]; ++b) room[j] += block_weight[b];
    }
    double levels = 1;  // one, and one for every factor of eight between the blocks and the bundles
    for (int64_t reached = count; reached < blocks; reached *= 8) ++levels;
    const double scale = static_cast<double>(total_load) /
                         static_cast<double>(std::accumulate(room.begin(), room.end(), int64_t{0}));
    for (int64_t j = 0; j < count; ++j) {
      const int64_t fair =
          std::min(room[j], static_cast<int64_t>(std::ceil(static_cast<double>(room[j]) * scale)));
      // Some of the slack is left for the partitions of the bundles.
      max_block_weight[j] = fair + static_cast<int64_t>(static_cast<double>(room[j] - fair) / levels);
    }
  }
};

// Divides a load in proportion to the maximum block weights, which it does not exceed.
inline std::vector<int64_t> fair_sizes(std::span<const int64_t> max_block_weight, int64_t load) {
  const double room = std::accumulate(max_block_weight.begin(), max_block_weight.end(), 0.0);
  std::vector<int64_t> size(max_block_weight.size());
  int64_t left = load;
  for (size_t b = 0; b < size.size(); ++b) {
    const double shared = static_cast<double>(load) * (static_cast<double>(max_block_weight[b]) / room);
    left -= size[b] = std::min(max_block_weight[b], static_cast<int64_t>(shared));
  }
  for (size_t b = 0, full = 0; left > 0 && full < size.size(); b = (b + 1) % size.size()) {
    if (size[b] < max_block_weight[b]) ++size[b], --left, full = 0;
    else ++full;
  }
  return size;
}

}  // namespace hopbytes
