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

// Writes the rows of the coarse vertices begin .. end - 1 and returns their number of arcs: parallel edges
// are merged, edges inside a coarse vertex vanish. `map` gives the coarse vertex of every vertex, and
// members_of(c) the vertices of one. `place` has a negative value per coarse vertex and is overwritten.
template <class W, class Weight, class MembersOf>
int64_t contract_rows(const Graph<W>& g, std::span<const int32_t> map, int64_t begin, int64_t end,
                      MembersOf members_of, int64_t* place, const ContractedRows<Weight>& rows) {
  int64_t filled = 0;
  constexpr int64_t ahead = 4;
  for (int64_t c = begin; c < end; ++c) {
    if (c + 2 * ahead < end)
      for (const int32_t v : members_of(c + 2 * ahead)) __builtin_prefetch(g.start + v);
    if (c + ahead < end)
      for (const int32_t v : members_of(c + ahead)) prefetch_arcs(g, v);
    const int64_t row = filled;
    rows.start[c] = row;
    rows.load[c] = 0;
    for (const int32_t v : members_of(c)) {
      rows.load[c] += g.load[v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t t = map[g.adj[e]];
        if (t == c) continue;
        // Branch-free, because it is unpredictable whether the row already has an arc to t.
        rows.weight[filled] = 0;
        const bool fresh = place[t] < row;
        const int64_t at = fresh ? filled : place[t];
        place[t] = at;
        rows.adj[at] = t;
        rows.weight[at] = static_cast<Weight>(rows.weight[at] + g.weight[e]);
        filled += fresh;
      }
    }
  }
  return filled;
}

}  // namespace hopbytes
