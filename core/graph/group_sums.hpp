// Sums of values: per group, such as the loads of blocks and PEs, and of all.
#pragma once
#include <span>

#include "graph/weights.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

// Adds the values of some items to the sums of their groups. Neighbouring items are often of the same group,
// and an addition to a sum in memory waits for the one before: two arrays take turns.
template <class Values>
void add_to_groups(std::span<const int32_t> group, Values value, int64_t begin, int64_t end, int64_t* even,
                   int64_t* odd) {
  int64_t i = begin;
  for (; i + 1 < end; i += 2) {
    even[group[i]] += value(i);
    odd[group[i + 1]] += value(i + 1);
  }
  if (i < end) even[group[i]] += value(i);
}

// Adds the value of every item to the sum of its group. The sums of integers do not depend on the order, so
// every range of items has sums of its own, unless these would take longer than the items.
inline void group_sums(std::span<const int32_t> group, const Weights<int64_t>& values, Team& team,
                       std::span<int64_t> sum) {
  constexpr int64_t kFewItems = 1 << 10;        // take no longer than another array
  constexpr int64_t kItemsPerRange = 1 << 13;  // summed in some microseconds
  const auto items = std::ssize(group), groups = std::ssize(sum);
  const auto add = [&](int64_t begin, int64_t end, int64_t* even, int64_t* odd) {
    if (const int64_t* array = values.array())
      add_to_groups(group, [array](int64_t i) { return array[i]; }, begin, end, even, odd);
    else add_to_groups(group, [](int64_t) { return 1; }, begin, end, even, odd);
  };
  if (items <= std::max(kFewItems, 4 * groups)) return add(0, items, sum.data(), sum.data());
  const int64_t most = std::min((items + kItemsPerRange - 1) / kItemsPerRange, items / (4 * groups));
  const int64_t ranges = std::clamp<int64_t>(team.threads(), 1, most);
  std::vector<std::vector<int64_t>> own(ranges);
  parallel_for(ranges, team, [&](int64_t i) {
    // The first range needs one array besides that of the result. The others have theirs apart from it.
    own[i].assign(i == 0 ? groups : 2 * groups, 0);
    add(items * i / ranges, items * (i + 1) / ranges, own[i].data(),
        i == 0 ? sum.data() : own[i].data() + groups);
  });
  for (const std::vector<int64_t>& part : own)
    for (auto first = part.begin(); first != part.end(); first += groups)
      std::transform(sum.begin(), sum.end(), first, sum.begin(), std::plus<>());
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
