// The arcs of coarse vertices, for contraction by one thread and by several.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "graph/graph.hpp"
#include "util/unset_vector.hpp"

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

// The weight of the arcs from one row to each coarse vertex, plus 1: 0 if there is no arc. A thread uses few
// parts of a large array, and the system provides pages of zeros where it does.
template <class Weight> class RowSums {
 public:
  using Sum = std::make_unsigned_t<Weight>;  // holds the largest weight plus 1
  RowSums() = default;
  explicit RowSums(int64_t count)
      : sum_(static_cast<Sum*>(std::calloc(std::max<int64_t>(1, count), sizeof(Sum)))) {
    if (!sum_) throw std::bad_alloc();
  }
  Sum* data() { return sum_.get(); }

 private:
  struct Free {
    void operator()(Sum* array) const { std::free(array); }
  };
  std::unique_ptr<Sum[], Free> sum_;
};

// Adds the arcs of v to the sums of a row and appends the coarse vertices without a sum to `adj`. Returns the
// new end of the row. Branch-free, because it is unpredictable whether the row already has an arc.
template <class W, class Sum>
int64_t add_arcs(const Graph<W>& g, const int32_t* map, int32_t v, Sum* sum, int32_t* row, int64_t filled) {
  const int32_t* adj = g.adj;
  const auto weight = g.weight;
  for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e) {
    const int32_t t = map[adj[e]];
    const bool fresh = sum[t] == 0;
    row[filled] = t;
    sum[t] += static_cast<Sum>(weight[e]) + fresh;
    filled += fresh;
  }
  return filled;
}

// Writes the rows of the coarse vertices begin .. end - 1 and returns their number of arcs: parallel edges
// are merged, edges inside a coarse vertex vanish. `map` gives the coarse vertex of every vertex. `sum` is
// that of RowSums, 0 before and after.
template <class W, class Weight>
int64_t contract_rows(const Graph<W>& g, std::span<const int32_t> map, int64_t begin, int64_t end,
                      const CoarseMembers& members, typename RowSums<Weight>::Sum* sum,
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
    for (; filled < next; ++filled) {
      auto& of_arc = sum[rows.adj[filled]];
      rows.weight[filled] = static_cast<Weight>(of_arc - 1);
      of_arc = 0;
    }
  }
  return filled;
}

}  // namespace hopbytes
