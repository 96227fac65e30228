// The largest load of each block, as Python computes it (hopbytes/model/capacities.py).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "graph/csr.hpp"

namespace hopbytes {

// What blocks may hold beyond their share of the load, in parts of 10^9.
class Imbalance {
 public:
  explicit Imbalance(double imbalance) : whole_(kParts + std::llround(imbalance * kParts)) {}

  // Whether a load exceeds (1 + imbalance) total size / free.
  bool exceeded(int64_t load, int64_t total, int64_t size, int64_t free) const {
    return static_cast<__int128>(load) * free > share(total, size) / kParts;
  }

  // Returns (1 + imbalance) total size / free rounded down, but not less than total size / free rounded up.
  int64_t bound(int64_t total, int64_t size, int64_t free) const {
    const __int128 even = (static_cast<__int128>(total) * size + free - 1) / free;
    const __int128 roomy = share(total, size) / (static_cast<__int128>(free) * kParts);
    return static_cast<int64_t>(std::min<__int128>(std::max(roomy, even), std::max<int64_t>(total, 1)));
  }

 private:
  static constexpr int64_t kParts = 1'000'000'000;
  __int128 share(int64_t total, int64_t size) const { return static_cast<__int128>(whole_) * total * size; }

  int64_t whole_;  // below 2^33, with loads up to 2^62 and sizes up to 2^31 there is no overflow
};

struct LoadBounds {
  std::vector<int64_t> load;  // in multiples of their greatest common divisor; empty: 1 each
  std::vector<int64_t> most;  // of each block
};

// Vertices that are heavier than the largest share take a block each, and their loads are reduced to it.
inline LoadBounds load_bounds(std::vector<int64_t> load, int64_t n, In<int64_t> capacity,
                              Imbalance imbalance) {
  std::vector<int64_t> sizes(capacity.begin(), capacity.end());
  int64_t free = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), total = n, heavy = 0;
  int64_t unit = 0;
  for (size_t v = 0; v < load.size() && unit != 1; ++v) unit = std::gcd(unit, load[v]);
  for (int64_t& each : load) each = unit > 0 ? each / unit : 1;  // without any load all count alike
  if (std::all_of(load.begin(), load.end(), [](int64_t each) { return each == 1; })) load.clear();
  if (!load.empty()) {
    total = std::accumulate(load.begin(), load.end(), int64_t{0});
    std::vector<int64_t> heaviest(std::min(load.size(), sizes.size()));
    std::partial_sort_copy(load.begin(), load.end(), heaviest.begin(), heaviest.end(), std::greater<>());
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    const int64_t most = std::min<int64_t>(std::ssize(sizes) - 1, n);
    for (; heavy < most && imbalance.exceeded(heaviest[heavy], total, sizes[heavy], free); ++heavy)
      total -= heaviest[heavy], free -= sizes[heavy];
  }
  LoadBounds bounds;
  const int64_t ceiling = std::numeric_limits<int64_t>::max() / std::ssize(capacity);  // so that sums fit
  for (const int64_t size : capacity)
    bounds.most.push_back(std::clamp<int64_t>(imbalance.bound(total, size, free), 1, ceiling));
  const int64_t largest = *std::max_element(bounds.most.begin(), bounds.most.end());
  for (int64_t& each : load) each = heavy > 0 ? std::min(each, largest) : each;
  bounds.load = std::move(load);
  return bounds;
}

}  // namespace hopbytes
