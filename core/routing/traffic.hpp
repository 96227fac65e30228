// Traffic between units (PEs, nodes).
#pragma once
#include <algorithm>
#include <vector>

#include "graph/csr.hpp"
#include "graph/row_ranges.hpp"

namespace hopbytes {

struct TrafficSums {
  int64_t between = 0;  // weight of arcs between different units
  int64_t within = 0;  // weight within one unit, without arcs of a task to itself
};

// Sums the weight that the units of some rows send to and receive from others. Adds to both arrays.
inline TrafficSums unit_traffic_of_rows(const Csr& g, In<int32_t> unit, int64_t begin, int64_t end,
                                        int64_t* sent, int64_t* received) {
  TrafficSums sums;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t from = unit[i];
    int64_t leaving = 0;
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      const int32_t to = unit[g.target[e]];
      const int64_t weight = g.w(e);
      if (from == to) {
        sums.within += g.target[e] == i ? 0 : weight;
        continue;
      }
      leaving += weight;
      received[to] += weight;
    }
    sent[from] += leaving;
    sums.between += leaving;
  }
  return sums;
}

// Sums the weight that every unit sends to and receives from others; unit[i] is the unit of task i. Adds to
// both arrays. Every thread has arrays of its own, unless these would take longer than the arcs.
inline TrafficSums unit_traffic(const Csr& g, In<int32_t> unit, int32_t threads, Out<int64_t> sent,
                                Out<int64_t> received) {
  const auto units = std::ssize(sent);
  const int64_t most = std::max<int64_t>(1, g.m() / std::max<int64_t>(1, 4 * units));
  const auto workers = static_cast<int32_t>(std::clamp<int64_t>(threads, 1, most));
  std::vector<TrafficSums> sums(workers);
  std::vector<std::vector<int64_t>> own(workers);
  parallel_rows(g.indptr, workers, [&](int32_t worker, int64_t begin, int64_t end) {
    std::vector<int64_t>& part = own[worker];
    if (part.empty()) part.assign(2 * units, 0);
    const TrafficSums more = unit_traffic_of_rows(g, unit, begin, end, part.data(), part.data() + units);
    sums[worker].between += more.between;
    sums[worker].within += more.within;
  });
  TrafficSums all;
  for (int32_t worker = 0; worker < workers; ++worker) {
    all.between += sums[worker].between;
    all.within += sums[worker].within;
    if (own[worker].empty()) continue;
    for (int64_t u = 0; u < units; ++u) {
      sent[u] += own[worker][u];
      received[u] += own[worker][units + u];
    }
  }
  return all;
}

}  // namespace hopbytes
