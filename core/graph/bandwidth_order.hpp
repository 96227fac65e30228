// The reverse Cuthill-McKee order of a symmetric graph, in which neighbours have close numbers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/csr.hpp"

namespace hopbytes {

// Breadth-first searches (Cuthill, McKee 1969), each from the vertex of least degree that is not numbered
// yet; neighbours are visited by ascending degree. Of equal degrees the smaller number comes first, so that
// the order is the same on every processor. Writes the vertices in the reverse of this order. O(n + m log m).
inline void reverse_cuthill_mckee(const Csr& g, Out<int32_t> order) {
  const auto n = static_cast<int64_t>(g.indptr.size()) - 1;
  const auto degree = [&](int32_t v) { return g.indptr[v + 1] - g.indptr[v]; };
  const auto before = [&](int32_t x, int32_t y) {
    return degree(x) != degree(y) ? degree(x) < degree(y) : x < y;
  };
  std::vector<int32_t> starts(n);
  for (int64_t v = 0; v < n; ++v) starts[v] = static_cast<int32_t>(v);
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
