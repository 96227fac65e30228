// Compressed sparse rows: construction, symmetrisation. Free functions over spans.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hopbytes {

template <class T> using In = std::span<const T>;
template <class T> using Out = std::span<T>;

// A graph as arrays. An empty `weight` means 1 per arc.
struct Csr {
  In<int64_t> indptr;
  In<int32_t> target;
  In<int64_t> weight;

  int64_t n() const { return static_cast<int64_t>(indptr.size()) - 1; }
  int64_t m() const { return static_cast<int64_t>(target.size()); }
  int64_t w(int64_t arc) const { return weight.empty() ? 1 : weight[arc]; }
};

inline __int128 wide_sum(In<int64_t> values) {
  __int128 total = 0;
  for (int64_t v : values) total += v;
  return total;
}

// Builds rows from unsorted arcs. Two stable counting sorts (by target, then by source) order the arcs, and
// repeated arcs are summed. Returns the number of different arcs. O(n + m) time and memory.
inline int64_t csr_from_arcs(In<int32_t> source, In<int32_t> target, In<int64_t> volume, In<int64_t> messages,
                             Out<int64_t> indptr, Out<int32_t> out_target, Out<int64_t> out_volume,
                             Out<int64_t> out_messages) {
  const int64_t n = static_cast<int64_t>(indptr.size()) - 1;
  const int64_t m = static_cast<int64_t>(source.size());
  auto order_by = [&](In<int32_t> key, const std::vector<int64_t>* previous) {
    std::vector<int64_t> start(n + 1, 0), order(m);
    for (int32_t v : key) ++start[v + 1];
    for (int64_t i = 0; i < n; ++i) start[i + 1] += start[i];
    for (int64_t i = 0; i < m; ++i) {
      const int64_t e = previous ? (*previous)[i] : i;
      order[start[key[e]]++] = e;
    }
    return order;
  };
  const std::vector<int64_t> by_target = order_by(target, nullptr);
  const std::vector<int64_t> order = order_by(source, &by_target);
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

// Builds the symmetric graph with weight C[i,j] + C[j,i] in both directions and no diagonal, by merging each
// row with the transposed row. Returns the number of arcs.
inline int64_t symmetrize(In<int64_t> indptr, In<int32_t> target, In<int64_t> volume, Out<int64_t> out_indptr,
                          Out<int32_t> out_target, Out<int64_t> out_weight) {
  const int64_t n = static_cast<int64_t>(indptr.size()) - 1;
  const int64_t m = static_cast<int64_t>(target.size());
  std::vector<int64_t> back_start(n + 2, 0), back_volume(m);
  std::vector<int32_t> back_source(m);
  for (int32_t t : target) ++back_start[t + 2];
  for (int64_t i = 0; i < n; ++i) back_start[i + 2] += back_start[i + 1];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
      const int64_t place = back_start[target[e] + 1]++;
      back_source[place] = static_cast<int32_t>(i);
      back_volume[place] = volume[e];
    }
  int64_t filled = 0;
  for (int64_t i = 0; i < n; ++i) {
    out_indptr[i] = filled;
    int64_t a = indptr[i], b = back_start[i];
    const int64_t a_end = indptr[i + 1], b_end = back_start[i + 1];
    while (a < a_end || b < b_end) {
      int32_t j;
      int64_t w = 0;
      if (b >= b_end || (a < a_end && target[a] <= back_source[b])) j = target[a];
      else j = back_source[b];
      if (j == i) {  // Twice the volume of a diagonal arc could exceed 63 bits.
        ++a, ++b;
        continue;
      }
      if (a < a_end && target[a] == j) w += volume[a++];
      if (b < b_end && back_source[b] == j) w += back_volume[b++];
      out_target[filled] = j;
      out_weight[filled++] = w;
    }
  }
  out_indptr[n] = filled;
  return filled;
}

// Builds the subgraph induced by `members` (ascending). place[v] is the position of v among them, negative
// for every other vertex. Returns the number of arcs written.
inline int64_t induced_csr(const Csr& g, In<int32_t> members, In<int32_t> place, Out<int64_t> out_indptr,
                           Out<int32_t> out_target, Out<int64_t> out_weight) {
  int64_t filled = 0;
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

}  // namespace hopbytes
