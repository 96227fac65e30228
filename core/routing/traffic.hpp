// Traffic between units (PEs, nodes).
#pragma once
#include "graph/csr.hpp"

namespace hopbytes {

struct TrafficSums {
  int64_t between = 0;  // weight of arcs between different units
  int64_t within = 0;  // weight within one unit, without arcs of a task to itself
};

// Sums the weight that every unit sends to and receives from others; unit[i] is the unit of task i. Adds to
// both arrays.
inline TrafficSums unit_traffic(const Csr& g, In<int32_t> unit, Out<int64_t> sent, Out<int64_t> received) {
  TrafficSums sums;
  for (int64_t i = 0; i < g.n(); ++i)
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      const int32_t from = unit[i], to = unit[g.target[e]];
      const int64_t weight = g.w(e);
      if (from == to) {
        if (g.target[e] != i) sums.within += weight;
        continue;
      }
      sums.between += weight;
      sent[from] += weight;
      received[to] += weight;
    }
  return sums;
}

}  // namespace hopbytes
