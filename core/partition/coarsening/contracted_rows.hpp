// The arcs of coarse vertices, for contraction by one thread and by several.
#pragma once
#include <cstdint>
#include <span>

#include "graph/graph.hpp"

namespace hopbytes {

// Where the rows of consecutive coarse vertices go.
template <class W> struct ContractedRows {
  int64_t* start;  // per coarse vertex, counted from the first arc of these rows
  int64_t* load;   // per coarse vertex
  int32_t* adj;    // room for as many arcs as the members have
  W* weight;
};

// Adds the arcs of v to the sums of a row and appends the coarse vertices without a sum to `adj`. Returns the
// new end of the row. Branch-free, because it is unpredictable whether the row already has an arc.
template <class W, class Weight>
int64_t add_arcs(const Graph<W>& g, const int32_t* map, int32_t v, Weight* sum, int32_t* row,
                 int64_t filled) {
  const int32_t* adj = g.adj;
  const auto weight = g.weight;
  for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e) {
    const int32_t t = map[adj[e]];
    const bool fresh = sum[t] < 0;
    row[filled] = t;
    sum[t] = static_cast<Weight>(sum[t] + weight[e] + fresh);
    filled += fresh;
  }
  return filled;
}

// Writes the rows of the coarse vertices begin .. end - 1 and returns their number of arcs: parallel edges
// are merged, edges inside a coarse vertex vanish. `map` gives the coarse vertex of every vertex, and
// members_of(c) the vertices of one. `sum` has the entry -1 per coarse vertex, before and after.
template <class W, class Weight, class MembersOf>
int64_t contract_rows(const Graph<W>& g, std::span<const int32_t> map, int64_t begin, int64_t end,
                      MembersOf members_of, Weight* sum, const ContractedRows<Weight>& rows) {
  int64_t filled = 0;
  constexpr int64_t ahead = 4;
  for (int64_t c = begin; c < end; ++c) {
    if (c + 2 * ahead < end)
      for (const int32_t v : members_of(c + 2 * ahead)) __builtin_prefetch(g.start + v);
    if (c + ahead < end)
      for (const int32_t v : members_of(c + ahead)) prefetch_arcs(g, v);
    rows.start[c] = filled;
    rows.load[c] = 0;
    sum[c] = 0;  // Edges inside are added up as if the row had an arc to c already.
    int64_t next = filled;
    for (const int32_t v : members_of(c)) {
      rows.load[c] += g.load[v];
      next = add_arcs(g, map.data(), v, sum, rows.adj, next);
    }
    sum[c] = -1;
    for (; filled < next; ++filled) {
      Weight& of_arc = sum[rows.adj[filled]];
      rows.weight[filled] = of_arc;
      of_arc = -1;
    }
  }
  return filled;
}

}  // namespace hopbytes
