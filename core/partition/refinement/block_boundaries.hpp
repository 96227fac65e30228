// The boundaries between pairs of blocks of a partition.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"

namespace hopbytes {

// A vertex of block a or b that has neighbours in the other block, with the cost of its edges to that block.
struct BoundaryVertex {
  int32_t a, b, vertex;
  int64_t cost;
};

// Sorts by pair. A counting sort, first by the larger block number, then by the smaller one: where all blocks
// touch each other there are almost as many entries as arcs.
inline void sort_by_blocks(size_t k, std::vector<BoundaryVertex>& found) {
  std::vector<BoundaryVertex> other(found.size());
  for (const auto key : {&BoundaryVertex::b, &BoundaryVertex::a}) {
    std::vector<size_t> place(k + 1, 0);
    for (const BoundaryVertex& c : found) ++place[c.*key + 1];
    for (size_t b = 0; b < k; ++b) place[b + 1] += place[b];
    for (const BoundaryVertex& c : found) other[place[c.*key]++] = c;
    found.swap(other);
  }
}

// Lists the boundary vertices of all pairs a < b with an active block, sorted by pair, then by vertex.
// `on_boundary` are all vertices with a neighbour in another block. Returns the number of scanned edges.
inline int64_t find_boundary_vertices(const AnyGraph& g, const AnyDistance& distance,
                                      const std::vector<int32_t>& block, std::span<const int32_t> on_boundary,
                                      const std::vector<uint8_t>& active,
                                      std::vector<BoundaryVertex>& boundary) {
  const size_t k = active.size();
  std::vector<int32_t> last(k, -1);  // the vertex entered last for each block
  std::vector<size_t> place(k, 0);   // the entry of that vertex
  std::vector<BoundaryVertex> found;
  int64_t scanned = 0;
  for (const int32_t v : on_boundary) {
    scanned += g.degree(v);
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t p = block[v], q = block[g.adj[e]];
      if (p == q || !(active[p] || active[q])) continue;
      const int64_t cost = g.weight[e] * distance(p, q);
      if (last[q] == v) {
        found[place[q]].cost += cost;
        continue;
      }
      last[q] = v, place[q] = found.size();
      found.push_back({std::min(p, q), std::max(p, q), v, cost});
    }
  }
  sort_by_blocks(k, found);
  boundary.swap(found);
  return scanned;
}

}  // namespace hopbytes
