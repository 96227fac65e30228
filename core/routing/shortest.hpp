// Shortest routes through any graph of directed links, as forwarding tables.
#pragma once
#include <vector>

#include "graph/csr.hpp"

namespace hopbytes {

// Fills table[row * endpoints + target] with the first link of a shortest path, -1 if there is none. The
// vertices 0 .. endpoints - 1 are the endpoints. row[vertex] is a row of the table, or -1 for a vertex that
// does not forward. If several links begin a shortest path, the one with number (target mod their count) in
// the order of links is taken, so that consecutive targets use different links. One backward breadth-first
// search per target: O(endpoints x links) time, O(vertices + links) extra memory.
inline void shortest_table(In<int32_t> tail, In<int32_t> head, In<int32_t> row, int64_t endpoints,
                           Out<int32_t> table) {
  const int64_t vertices = static_cast<int64_t>(row.size());
  // Links by head (for the backward search) and by tail (for the choice), each ascending.
  auto rows_of = [&](In<int32_t> key, std::vector<int64_t>& start, std::vector<int32_t>& links) {
    start.assign(vertices + 1, 0);
    links.resize(key.size());
    for (int32_t v : key) ++start[v + 1];
    for (int64_t v = 0; v < vertices; ++v) start[v + 1] += start[v];
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (size_t link = 0; link < key.size(); ++link) links[next[key[link]]++] = static_cast<int32_t>(link);
  };
  std::vector<int64_t> into_start, from_start;
  std::vector<int32_t> into, from;
  rows_of(head, into_start, into);
  rows_of(tail, from_start, from);
  std::vector<int32_t> distance(vertices), queue;
  queue.reserve(vertices);
  for (int64_t target = 0; target < endpoints; ++target) {
    std::fill(distance.begin(), distance.end(), -1);
    distance[target] = 0;
    queue.assign(1, static_cast<int32_t>(target));
    for (size_t at = 0; at < queue.size(); ++at) {
      const int32_t v = queue[at];
      if (v != target && row[v] < 0) continue;  // this vertex does not forward
      for (int64_t e = into_start[v]; e < into_start[v + 1]; ++e)
        if (const int32_t u = tail[into[e]]; distance[u] < 0)
          distance[u] = distance[v] + 1, queue.push_back(u);
    }
    for (int64_t v = 0; v < vertices; ++v) {
      if (row[v] < 0) continue;
      int64_t count = 0;
      auto begins = [&](int32_t link) {
        const int32_t next = head[link];
        return distance[next] >= 0 && distance[next] + 1 == distance[v] && (next == target || row[next] >= 0);
      };
      if (distance[v] > 0)
        for (int64_t e = from_start[v]; e < from_start[v + 1]; ++e) count += begins(from[e]);
      int32_t chosen = -1;
      int64_t skip = count > 0 ? target % count : 0;
      for (int64_t e = from_start[v]; count > 0 && e < from_start[v + 1]; ++e)
        if (begins(from[e]) && skip-- == 0) {
          chosen = from[e];
          break;
        }
      table[row[v] * endpoints + target] = chosen;
    }
  }
}

// Fills table[vertex * endpoints + target] with the number of links of a shortest path; 0 at the target, -1
// if there is no path and at all vertices that do not forward. Otherwise as shortest_table().
inline void distance_table(In<int32_t> tail, In<int32_t> head, In<int32_t> row, int64_t endpoints,
                           Out<int32_t> table) {
  const int64_t vertices = static_cast<int64_t>(row.size());
  std::vector<int64_t> start(vertices + 1, 0);
  for (int32_t v : head) ++start[v + 1];
  for (int64_t v = 0; v < vertices; ++v) start[v + 1] += start[v];
  std::vector<int32_t> into(head.size()), queue;
  std::vector<int64_t> next(start.begin(), start.end() - 1);
  for (size_t link = 0; link < head.size(); ++link) into[next[head[link]]++] = static_cast<int32_t>(link);
  std::fill(table.begin(), table.end(), -1);
  for (int64_t target = 0; target < endpoints; ++target) {
    table[target * endpoints + target] = 0;
    queue.assign(1, static_cast<int32_t>(target));
    for (size_t at = 0; at < queue.size(); ++at) {
      const int64_t v = queue[at];
      for (int64_t e = start[v]; e < start[v + 1]; ++e) {
        const int64_t u = tail[into[e]];
        if (row[u] < 0 || table[u * endpoints + target] >= 0) continue;
        table[u * endpoints + target] = table[v * endpoints + target] + 1;
        queue.push_back(static_cast<int32_t>(u));
      }
    }
  }
}

}  // namespace hopbytes
