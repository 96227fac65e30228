// Shortest routes through any graph of directed links, as forwarding tables.
#pragma once
#include "graph/checked.hpp"
#include "util/bucket_order.hpp"

namespace hopbytes {

// The first vertices are the endpoints. row[vertex] is a row of the table, -1 for one that does not forward.
class ShortestPaths {
 public:
  ShortestPaths(In<int32_t> tail, In<int32_t> head, In<int32_t> row)
      : tail_(tail), head_(head), row_(row), into_(links_of(head)), from_(links_of(tail)) {}

  // Fills distance[vertex * stride] with the number of links of a shortest path to `target`; 0 at the
  // target, -1 if there is no path and at all other vertices that do not forward. One backward
  // breadth-first search.
  void search(int32_t target, int32_t* distance, int64_t stride) {
    for (int64_t v = 0; v < std::ssize(row_); ++v) distance[v * stride] = -1;
    distance[target * stride] = 0;
    queue_.assign(1, target);
    for (size_t at = 0; at < queue_.size(); ++at) {
      const int32_t v = queue_[at];
      for (const int32_t link : into_.of(v)) {
        const int32_t u = tail_[link];
        if (row_[u] < 0 || distance[u * stride] >= 0) continue;
        distance[u * stride] = distance[v * stride] + 1;
        queue_.push_back(u);
      }
    }
  }

  // Returns the first link of a shortest path from a vertex, -1 if there is none. If several links begin
  // one, it is the one with number (target mod their count) in the order of links, so that consecutive
  // targets use different links.
  int32_t first_link(int32_t v, int32_t target, const std::vector<int32_t>& distance) const {
    const auto begins = [&](int32_t link) {
      return distance[head_[link]] >= 0 && distance[head_[link]] + 1 == distance[v];
    };
    const auto links = from_.of(v);
    const auto count = distance[v] > 0 ? std::count_if(links.begin(), links.end(), begins) : 0;
    if (count == 0) return -1;
    int64_t skip = target % count;
    return *std::find_if(links.begin(), links.end(),
                         [&](int32_t link) { return begins(link) && skip-- == 0; });
  }

 private:
  // The links by one of their ends.
  Buckets<int32_t> links_of(In<int32_t> end) const {
    return {std::ssize(end), std::ssize(row_), [&](int64_t i) { return end[i]; }};
  }

  In<int32_t> tail_, head_, row_;
  Buckets<int32_t> into_, from_;
  std::vector<int32_t> queue_;
};

// Throws unless these are links between vertices, of which some are endpoints, with rows of a table.
inline void expect_links(In<int32_t> tail, In<int32_t> head, In<int32_t> row, int64_t endpoints,
                         int64_t rows) {
  expect(tail.size() == head.size() && endpoints >= 0 && endpoints <= std::ssize(row), "links");
  expect_below(tail, std::ssize(row), "vertices");
  expect_below(head, std::ssize(row), "vertices");
  expect_below(row, rows, "rows", Team::alone(), -1);
}

// Fills table[row * endpoints + target] with the first link of a shortest path. O(endpoints x links).
inline void shortest_table(In<int32_t> tail, In<int32_t> head, In<int32_t> row, int32_t endpoints,
                           Out<int32_t> table) {
  expect_links(tail, head, row, endpoints, std::ssize(table) / std::max(1, endpoints));
  ShortestPaths paths(tail, head, row);
  std::vector<int32_t> distance(row.size());
  for (int32_t target = 0; target < endpoints; ++target) {
    paths.search(target, distance.data(), 1);
    for (int32_t v = 0; v < std::ssize(row); ++v)
      if (row[v] >= 0) table[int64_t{row[v]} * endpoints + target] = paths.first_link(v, target, distance);
  }
}

// Fills table[vertex * endpoints + target] with the number of links of a shortest path.
inline void distance_table(In<int32_t> tail, In<int32_t> head, In<int32_t> row, int32_t endpoints,
                           Out<int32_t> table) {
  expect_links(tail, head, row, endpoints, INT32_MAX);
  expect(std::ssize(table) == std::ssize(row) * endpoints, "distances");
  ShortestPaths paths(tail, head, row);
  for (int32_t target = 0; target < endpoints; ++target)
    paths.search(target, table.data() + target, endpoints);
}

}  // namespace hopbytes
