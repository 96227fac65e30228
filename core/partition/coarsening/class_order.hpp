// Classes of vertices, which visit their neighbours in turn.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "util/parallel.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Some vertices by class, and within a class in their order.
struct ClassOrder {
  static constexpr int64_t classes = 8, per_range = 1 << 13;
  std::vector<int32_t> vertex;
  int64_t first[classes + 1];

  // Ranges are counted and distributed side by side; the order does not depend on the number of threads.
  ClassOrder(const std::vector<int32_t>& some, uint64_t seed, Team& team) : vertex(some.size()), first{} {
    const auto class_of = [seed](int32_t v) { return mix(seed ^ static_cast<uint64_t>(v)) % classes; };
    const int64_t count = std::ssize(some), ranges = (count + per_range - 1) / per_range;
    std::vector<std::array<int64_t, classes>> at(ranges);  // of each range, where its next vertex goes
    parallel_ranges(count, per_range, team, [&](int32_t, int64_t begin, int64_t end) {
      std::array<int64_t, classes>& found = at[begin / per_range];
      found.fill(0);
      for (int64_t i = begin; i < end; ++i) ++found[class_of(some[i])];
    });
    int64_t filled = 0;
    for (int64_t c = 0; c < classes; ++c) {
      first[c] = filled;
      for (std::array<int64_t, classes>& each : at) filled += std::exchange(each[c], filled);
    }
    first[classes] = filled;
    parallel_ranges(count, per_range, team, [&](int32_t, int64_t begin, int64_t end) {
      std::array<int64_t, classes>& next = at[begin / per_range];
      for (int64_t i = begin; i < end; ++i) vertex[next[class_of(some[i])]++] = some[i];
    });
  }
  std::span<const int32_t> of(int64_t c) const {
    return {vertex.data() + first[c], static_cast<size_t>(first[c + 1] - first[c])};
  }
};

}  // namespace hopbytes
