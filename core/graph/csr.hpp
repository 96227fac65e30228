// Compressed sparse rows and their construction. Free functions over spans.
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
