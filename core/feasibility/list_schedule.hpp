// Tasks assigned from scratch when moves and exchanges cannot respect the capacities of PEs.
#pragma once
#include <queue>

#include "graph/checked.hpp"

namespace hopbytes {

// List scheduling: assigns the heaviest tasks first, each to the PE with the smallest relative load. Tasks
// without load stay. (Graham 1969: exceeds the mean by at most the heaviest task.) O(n log n).
inline void list_schedule(In<int64_t> load, In<int64_t> capacity, Out<int32_t> pe) {
  expect(pe.size() == load.size() && (load.empty() || !capacity.empty()), "loads and PEs");
  std::vector<int64_t> order;
  for (int64_t u = 0; u < static_cast<int64_t>(load.size()); ++u)
    if (load[u] > 0) order.push_back(u);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return load[a] > load[b]; });
  struct Fill {
    int64_t sum, capacity, pe;
  };
  const auto fuller = [](const Fill& a, const Fill& b) {
    const __int128 mine = static_cast<__int128>(a.sum) * b.capacity,
                   its = static_cast<__int128>(b.sum) * a.capacity;
    return mine != its ? mine > its : a.pe > b.pe;
  };
  std::vector<Fill> fills;
  fills.reserve(capacity.size());
  for (int64_t p = 0; p < static_cast<int64_t>(capacity.size()); ++p) fills.push_back({0, capacity[p], p});
  std::priority_queue<Fill, std::vector<Fill>, decltype(fuller)> emptiest(fuller, std::move(fills));
  for (int64_t u : order) {
    Fill fill = emptiest.top();
    emptiest.pop();
    pe[u] = static_cast<int32_t>(fill.pe);
    fill.sum += load[u];
    emptiest.push(fill);
  }
}

}  // namespace hopbytes
