// Graphs made of arcs: rows, subgraphs, the symmetric graph, and an order of its vertices.
#pragma once
#include <type_traits>

#include "graph/checked.hpp"
#include "graph/graph.hpp"
#include "graph/row_ranges.hpp"
#include "util/bucket_order.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

// Builds rows from unsorted arcs. Two stable counting sorts (by target, then by source) order the arcs, and
// repeated arcs are summed. Returns the number of different arcs. O(n + m) time and memory.
inline int64_t csr_from_arcs(In<int32_t> source, In<int32_t> target, In<int64_t> volume, In<int64_t> messages,
                             Out<int64_t> indptr, Out<int32_t> out_target, Out<int64_t> out_volume,
                             Out<int64_t> out_messages) {
  const int64_t n = std::ssize(indptr) - 1, m = std::ssize(source);
  expect(n >= 0 && std::ssize(target) == m && std::ssize(volume) == m && std::ssize(out_target) == m &&
             std::ssize(out_volume) == m && messages.size() == out_messages.size() &&
             (messages.empty() || std::ssize(messages) == m),
         "arcs");
  expect_below(source, n, "sources");
  expect_below(target, n, "targets");
  std::vector<int64_t> by_target(m), order(m);
  order_by_bucket(
      m, n, Team::alone(), [&](int64_t e) { return target[e]; }, indptr,
      [&](int64_t e, int64_t i) { by_target[i] = e; });
  order_by_bucket(
      m, n, Team::alone(), [&](int64_t i) { return source[by_target[i]]; }, indptr,
      [&](int64_t i, int64_t place) { order[place] = by_target[i]; });
  std::fill(indptr.begin(), indptr.end(), 0);
  int64_t last = -1;
  int32_t row = -1;
  for (int64_t e : order) {
    if (last < 0 || source[e] != row || target[e] != out_target[last]) {
      ++last;
      row = source[e];
      ++indptr[row + 1];
      out_target[last] = target[e];
      out_volume[last] = 0;
      if (!messages.empty()) out_messages[last] = 0;
    }
    out_volume[last] += volume[e];
    if (!messages.empty()) out_messages[last] += messages[e];
  }
  for (int64_t i = 0; i < n; ++i) indptr[i + 1] += indptr[i];
  return last + 1;
}

// Builds the subgraph induced by `members` (ascending). place[v] is the position of v among them, negative
// for every other vertex. Returns the number of arcs written.
inline int64_t induced_csr(const Csr& g, In<int32_t> members, In<int32_t> place, Out<int64_t> out_indptr,
                           Out<int32_t> out_target, Out<int64_t> out_weight) {
  expect_graph(g);
  expect_below(members, g.n(), "members");
  int64_t arcs = 0, filled = 0;
  for (const int32_t v : members) arcs += g.indptr[v + 1] - g.indptr[v];
  expect(std::ssize(place) == g.n() && out_indptr.size() == members.size() + 1 &&
             std::ssize(out_target) == arcs && (g.weight.empty() || out_weight.size() == out_target.size()),
         "arrays of a subgraph");
  for (size_t i = 0; i < members.size(); ++i) {
    out_indptr[i] = filled;
    for (int64_t e = g.indptr[members[i]]; e < g.indptr[members[i] + 1]; ++e) {
      const int32_t j = place[g.target[e]];
      if (j < 0) continue;
      if (!g.weight.empty()) out_weight[filled] = g.weight[e];
      out_target[filled++] = j;
    }
  }
  out_indptr[members.size()] = filled;
  return filled;
}

// Builds the symmetric graph with weight C[i,j] + C[j,i] in both directions and no diagonal, by merging each
// row with the transposed row.
class Symmetrization {
 public:
  Symmetrization(const Csr& g, Team& team)
      : g_(g), team_(team), start_(g.n() + 1, 0), source_(g.m()), weight_(g.weight.empty() ? 0 : g.m()) {
    transpose();
  }

  // Writes the rows and returns the number of arcs.
  int64_t write(Out<int64_t> indptr, Out<int32_t> target, Out<int64_t> weight) const {
    indptr[0] = 0;
    if (team_.threads() == 1) {  // without a pass for the lengths of the rows
      write_rows(0, g_.n(), indptr, target, weight);
      return indptr[g_.n()];
    }
    parallel_rows(g_.indptr, team_, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t length = 0;
        merge(i, [&](int32_t, int64_t) { ++length; });
        indptr[i + 1] = length;
      }
    });
    for (int64_t i = 0; i < g_.n(); ++i) indptr[i + 1] += indptr[i];
    parallel_rows(g_.indptr, team_, [&](int32_t, int64_t begin, int64_t end) {
      write_rows(begin, end, indptr, target, weight);
    });
    return indptr[g_.n()];
  }

 private:
  // Threads put the arcs into their transposed rows in any order, and sort each row then.
  void transpose() {
    parallel_rows(g_.indptr, team_, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t e = g_.indptr[begin]; e < g_.indptr[end]; ++e) add(start_[g_.target[e] + 1], 1);
    });
    for (int64_t i = 0; i < g_.n(); ++i) start_[i + 1] += start_[i];
    std::vector<int64_t> next(start_.begin(), start_.end() - 1);
    parallel_rows(g_.indptr, team_, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t e = g_.indptr[i]; e < g_.indptr[i + 1]; ++e) {
          const int64_t place = add(next[g_.target[e]], 1);
          source_[place] = static_cast<int32_t>(i);
          if (weighted()) weight_[place] = g_.weight[e];
        }
    });
    if (team_.threads() == 1) return;
    parallel_rows(start_, team_, [&](int32_t, int64_t begin, int64_t end) {
      std::vector<std::pair<int32_t, int64_t>> row;
      for (int64_t i = begin; i < end; ++i) sort_row(start_[i], start_[i + 1], row);
    });
  }

  // Sorts a transposed row by sources, which differ, by means of a buffer.
  void sort_row(int64_t begin, int64_t end, std::vector<std::pair<int32_t, int64_t>>& row) {
    if (std::is_sorted(source_.data() + begin, source_.data() + end)) return;
    row.clear();
    for (int64_t b = begin; b < end; ++b) row.emplace_back(source_[b], back_weight(b));
    std::sort(row.begin(), row.end());
    for (int64_t b = begin; b < end; ++b) {
      source_[b] = row[b - begin].first;
      if (weighted()) weight_[b] = row[b - begin].second;
    }
  }

  bool weighted() const { return !weight_.empty(); }
  int64_t back_weight(int64_t place) const { return weighted() ? weight_[place] : 1; }

  // Writes some rows from indptr[begin] on, and their ends, which may be known.
  void write_rows(int64_t begin, int64_t end, Out<int64_t> indptr, Out<int32_t> target,
                  Out<int64_t> weight) const {
    int64_t next = indptr[begin];
    for (int64_t i = begin; i < end; ++i) {
      merge(i, [&](int32_t j, int64_t w) {
        target[next] = j;
        weight[next++] = w;
      });
      if (team_.threads() == 1) indptr[i + 1] = next;
    }
  }

  // Returns the value before; atomically if several threads add.
  int64_t add(int64_t& value, int64_t more) const {
    if (team_.threads() > 1) return shared_add(value, more);
    value += more;
    return value - more;
  }

  // Calls emit(neighbour, weight) in ascending order of neighbours.
  template <class Emit> void merge(int64_t i, Emit emit) const {
    int64_t a = g_.indptr[i], b = start_[i];
    const int64_t a_end = g_.indptr[i + 1], b_end = start_[i + 1];
    while (a < a_end || b < b_end) {
      const bool forth = b >= b_end || (a < a_end && g_.target[a] <= source_[b]);
      const int32_t j = forth ? g_.target[a] : source_[b];
      if (j == i) {  // Twice the volume of a diagonal arc could exceed 63 bits.
        ++a, ++b;
        continue;
      }
      int64_t w = 0;
      if (a < a_end && g_.target[a] == j) w += g_.w(a++);
      if (b < b_end && source_[b] == j) w += back_weight(b++);
      emit(j, w);
    }
  }

  const Csr g_;
  Team& team_;
  // Of the transposed rows; without weights each is 1.
  std::vector<int64_t> start_;
  UnsetVector<int32_t> source_;
  UnsetVector<int64_t> weight_;
};

// How many weights a thread converts at once.
constexpr int64_t kWeightsPerRange = 1 << 17;

inline bool fits_32_bits(const Csr& g, Team& team) {
  constexpr int64_t most = 0x7fffffff;
  if (g.weight.empty()) return g.m() <= most;
  std::atomic<int64_t> sum{0};  // at most by `most` too large for each range
  parallel_ranges(g.m(), kWeightsPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    int64_t total = 0;
    for (int64_t e = begin; e < end && total <= most; ++e)
      total = g.weight[e] > most ? most + 1 : total + g.weight[e];
    if (sum.load(std::memory_order_relaxed) <= most) sum += total;
  });
  return sum <= most;
}

// A view of rows as a graph; weights are copied if W has 32 bits, and 1 each takes no memory.
template <class W> Graph<W> graph_view(const Csr& csr, In<int64_t> load, Team& team) {
  Graph<W> graph;
  graph.n = csr.n();
  graph.start = csr.indptr.data();
  graph.adj = csr.target.data();
  if constexpr (std::is_same_v<W, int64_t>) {
    if (!csr.weight.empty()) graph.weight = Weights(csr.weight.data());
  } else if (!csr.weight.empty()) {
    graph.own_weight = UnsetVector<W>(csr.m());
    parallel_ranges(csr.m(), kWeightsPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) graph.own_weight[e] = static_cast<W>(csr.weight[e]);
    });
    graph.weight = Weights<W>(graph.own_weight.data());
  }
  if (!load.empty()) graph.load = Weights(load.data());
  graph.sum_loads();
  graph.uneven = weights_uneven(graph, team);
  return graph;
}

// The reverse Cuthill-McKee order of a symmetric graph, in which neighbours have close numbers:
// breadth-first searches (Cuthill, McKee 1969), each from the vertex of least degree that is not numbered
// yet; neighbours are visited by ascending degree. Of equal degrees the smaller number comes first, so that
// the order is the same on every processor. Writes the vertices in the reverse of this order. O(n + m log m).
inline void reverse_cuthill_mckee(const Csr& g, Out<int32_t> order) {
  expect_graph(g);
  expect(std::ssize(order) == g.n(), "a graph and an order");
  const auto n = static_cast<int64_t>(g.indptr.size()) - 1;
  const auto degree = [&](int32_t v) { return g.indptr[v + 1] - g.indptr[v]; };
  const auto before = [&](int32_t x, int32_t y) {
    return degree(x) != degree(y) ? degree(x) < degree(y) : x < y;
  };
  std::vector<int32_t> starts = numbers_below<int32_t>(n);
  std::sort(starts.begin(), starts.end(), before);
  std::vector<uint8_t> numbered(n, 0);
  int64_t filled = 0, next = 0;
  for (const int32_t start : starts) {
    if (numbered[start]) continue;
    numbered[start] = 1;
    order[filled++] = start;
    for (; next < filled; ++next) {
      const int64_t first = filled;
      for (int64_t e = g.indptr[order[next]]; e < g.indptr[order[next] + 1]; ++e) {
        const int32_t u = g.target[e];
        if (!numbered[u]) numbered[u] = 1, order[filled++] = u;
      }
      std::sort(order.begin() + first, order.begin() + filled, before);
    }
  }
  std::reverse(order.begin(), order.end());
}

}  // namespace hopbytes
