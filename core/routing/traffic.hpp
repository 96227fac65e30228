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
// both arrays. Every part of the rows has arrays of its own, unless these would take longer than the arcs.
inline TrafficSums unit_traffic(const Csr& g, In<int32_t> unit, Team& team, Out<int64_t> sent,
                                Out<int64_t> received) {
  const auto units = std::ssize(sent);
  const int64_t most = std::max<int64_t>(1, g.m() / std::max<int64_t>(1, 4 * units));
  const int64_t parts = std::clamp<int64_t>(team.threads(), 1, most);
  std::vector<TrafficSums> sums(parts);
  std::vector<std::vector<int64_t>> own(parts);
  parallel_parts(g.indptr, parts, team, [&](int64_t part, int64_t begin, int64_t end) {
    own[part].assign(2 * units, 0);
    sums[part] = unit_traffic_of_rows(g, unit, begin, end, own[part].data(), own[part].data() + units);
  });
  TrafficSums all;
  for (int64_t part = 0; part < parts; ++part) {
    all.between += sums[part].between;
    all.within += sums[part].within;
    for (int64_t u = 0; u < units; ++u) {
      sent[u] += own[part][u];
      received[u] += own[part][units + u];
    }
  }
  return all;
}

}  // namespace hopbytes
