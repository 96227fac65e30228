// Sums of values: per group, such as the loads of PEs, and of all.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "util/parallel.hpp"

namespace hopbytes {

// Adds the values of some items to the sums of their groups; without values they count 1 each. Neighbouring
// items are often of the same group, and an addition to a sum in memory waits for the one before: two
// arrays take turns.
inline void add_to_groups(std::span<const int32_t> group, std::span<const int64_t> value, int64_t begin,
                          int64_t end, int64_t* even, int64_t* odd) {
  const auto of = [&](int64_t i) { return value.empty() ? 1 : value[i]; };
  int64_t i = begin;
  for (; i + 1 < end; i += 2) {
    even[group[i]] += of(i);
    odd[group[i + 1]] += of(i + 1);
  }
  if (i < end) even[group[i]] += of(i);
}

// Adds the value of every item, or 1 without values, to the sum of its group. The sums of integers do not
// depend on the order, so every range has sums of its own, unless these would take longer than the items.
inline void group_sums(std::span<const int32_t> group, std::span<const int64_t> value, Team& team,
                       std::span<int64_t> sum) {
  constexpr int64_t kItems = 1 << 15;  // summed in some ten microseconds
  const auto items = std::ssize(group), groups = std::ssize(sum);
  if (items <= 4 * groups) {
    add_to_groups(group, value, 0, items, sum.data(), sum.data());
    return;
  }
  const int64_t most = std::min((items + kItems - 1) / kItems, items / (4 * groups));
  const int64_t ranges = std::clamp<int64_t>(team.threads(), 1, most);
  std::vector<std::vector<int64_t>> own(ranges);
  parallel_for(ranges, team, [&](int64_t i) {
    own[i].assign(2 * groups, 0);
    add_to_groups(group, value, items * i / ranges, items * (i + 1) / ranges, own[i].data(),
                  own[i].data() + groups);
  });
  for (const std::vector<int64_t>& part : own)
    for (size_t i = 0; i < part.size(); ++i) sum[i % groups] += part[i];
}

// Returns the exact sum, which may exceed 63 bits. Upper and lower halves are summed apart.
inline __int128 wide_sum(std::span<const int64_t> values, Team& team) {
  constexpr int64_t kItems = 1 << 18;
  std::atomic<int64_t> upper{0};
  std::atomic<uint64_t> lower{0};
  parallel_ranges(std::ssize(values), kItems, team, [&](int32_t, int64_t begin, int64_t end) {
    int64_t high = 0;
    uint64_t low = 0;
    for (int64_t i = begin; i < end; ++i) {
      high += values[i] >> 32;
      low += static_cast<uint32_t>(values[i]);
    }
    upper += high;
    lower += low;
  });
  return (static_cast<__int128>(upper.load()) << 32) + lower.load();
}

}  // namespace hopbytes
