// The arcs of coarse vertices, for contraction by one thread and by several.
#pragma once
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "util/unset_vector.hpp"
#include "util/zeroed_array.hpp"

namespace hopbytes {

// Where the rows of consecutive coarse vertices go.
template <class W> struct ContractedRows {
  int64_t* start;  // per coarse vertex, counted from the first arc of these rows
  int64_t* load;   // per coarse vertex
  int32_t* adj;    // room for as many arcs as the members have
  W* weight;
};

// The vertices of consecutive coarse vertices.
class CoarseMembers {
 public:
  // Of the coarse vertices begin .. end - 1. Their vertices are vertex(0) .. vertex(count - 1), in the order
  // in which each coarse vertex lists its own.
  template <class Vertex>
  void sort(std::span<const int32_t> map, int64_t begin, int64_t end, int64_t count, Vertex vertex) {
    begin_ = begin;
    first_.assign(end - begin + 2, 0);
    if (std::ssize(vertex_) < count) vertex_ = UnsetVector<int32_t>(count);
    for (int64_t i = 0; i < count; ++i) ++first_[map[vertex(i)] - begin + 2];
    for (int64_t c = 2; c < std::ssize(first_); ++c) first_[c] += first_[c - 1];
    for (int64_t i = 0; i < count; ++i) {
      const int32_t v = vertex(i);
      vertex_[first_[map[v] - begin + 1]++] = v;
    }
  }
  std::span<const int32_t> of(int64_t c) const {
    const int64_t own = c - begin_;
    return {vertex_.data() + first_[own], static_cast<size_t>(first_[own + 1] - first_[own])};
  }

 private:
  int64_t begin_ = 0;
  std::vector<int32_t> first_;  // of each coarse vertex, and two more
  UnsetVector<int32_t> vertex_;
};

// The weight of the arcs from one row to each coarse vertex, plus 1: 0 if there is no arc. An unsigned number
// holds the largest weight plus 1.
template <class Weight> using RowSums = ZeroedArray<std::make_unsigned_t<Weight>>;

// Adds the weight of an arc to the sum of its row, and writes the coarse vertex to the end of the row.
// Returns whether the row becomes longer by it, because it had no such arc. Branch-free, because that is
// unpredictable.
template <class Weight, class Sum> bool add_to_row(int32_t to, Weight weight, Sum* sum, int32_t* end) {
  const bool fresh = sum[to] == 0;
  *end = to;
  sum[to] += static_cast<Sum>(weight) + fresh;
  return fresh;
}

// Returns the weight of an arc and removes it from the sums.
template <class Weight, class Sum> Weight take_sum(Sum& sum) {
  return static_cast<Weight>(std::exchange(sum, Sum{0}) - 1);
}

// Adds the arcs of v to a row. Returns its new end.
template <class W, class Sum>
int64_t add_arcs(const Graph<W>& g, const int32_t* map, int32_t v, Sum* sum, int32_t* row, int64_t filled) {
  const int32_t* adj = g.adj;
  const auto weight = g.weight;
  for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e)
    filled += add_to_row(map[adj[e]], weight[e], sum, row + filled);
  return filled;
}

// Writes the rows of the coarse vertices begin .. end - 1 and returns their number of arcs: parallel edges
// are merged, edges inside a coarse vertex vanish. `map` gives the coarse vertex of every vertex. `sum` is
// that of RowSums, 0 before and after.
template <class W, class Weight>
int64_t contract_rows(const Graph<W>& g, std::span<const int32_t> map, int64_t begin, int64_t end,
                      const CoarseMembers& members, std::make_unsigned_t<Weight>* sum,
                      const ContractedRows<Weight>& rows) {
  int64_t filled = 0;
  constexpr int64_t ahead = 4;
  for (int64_t c = begin; c < end; ++c) {
    if (c + 2 * ahead < end)
      for (const int32_t v : members.of(c + 2 * ahead)) __builtin_prefetch(g.start + v);
    if (c + ahead < end)
      for (const int32_t v : members.of(c + ahead)) prefetch_arcs(g, v);
    rows.start[c] = filled;
    rows.load[c] = 0;
    sum[c] = 1;  // Edges inside are added up as if the row had an arc to c already.
    int64_t next = filled;
    for (const int32_t v : members.of(c)) {
      rows.load[c] += g.load[v];
      next = add_arcs(g, map.data(), v, sum, rows.adj, next);
    }
    sum[c] = 0;
    for (; filled < next; ++filled) rows.weight[filled] = take_sum<Weight>(sum[rows.adj[filled]]);
  }
  return filled;
}

}  // namespace hopbytes
