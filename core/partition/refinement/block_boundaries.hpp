// The boundaries between pairs of blocks of a partition.
#pragma once
#include <numeric>

#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"
#include "util/control.hpp"
#include "util/bucket_order.hpp"

namespace hopbytes {

// A vertex of block a or b that has neighbours in the other block, with the cost of its edges to that block.
struct BoundaryVertex {
  int32_t a, b, vertex;
  int64_t cost;
};
using BoundaryVertices = UnsetVector<BoundaryVertex>;

// A pair of adjacent blocks: the range of its boundary vertices, and the cost of its boundary.
struct AdjacentBlocks {
  int32_t a, b;
  size_t begin, end;
  int64_t cost;

  std::vector<int32_t> vertices(const BoundaryVertices& boundary) const {
    std::vector<int32_t> found(end - begin);
    for (size_t i = begin; i < end; ++i) found[i - begin] = boundary[i].vertex;
    return found;
  }
};

// Returns the pairs of a boundary that is sorted by pair, in its order.
inline std::vector<AdjacentBlocks> adjacent_blocks(const BoundaryVertices& boundary) {
  std::vector<AdjacentBlocks> pairs;
  for (size_t i = 0; i < boundary.size(); ++i) {
    if (i == 0 || boundary[i].a != boundary[i - 1].a || boundary[i].b != boundary[i - 1].b)
      pairs.push_back({boundary[i].a, boundary[i].b, i, i, 0});
    pairs.back().end = i + 1;
    pairs.back().cost += boundary[i].cost;
  }
  return pairs;
}

// Sorts by pair. A counting sort: where all blocks touch each other there are almost as many entries as arcs.
// If there are more pairs than entries it sorts by the larger block number, then by the smaller one.
inline void sort_by_blocks(int64_t k, Team& team, BoundaryVertices& found) {
  BoundaryVertices other(found.size());
  const bool at_once = k * k <= std::ssize(found);
  std::vector<int64_t> first(at_once ? k * k + 1 : k + 1);
  if (at_once) {
    order_by_bucket(
        std::ssize(found), k * k, team, [&](int64_t i) { return found[i].a * k + found[i].b; }, first,
        [&](int64_t i, int64_t position) { other[position] = found[i]; });
    return found.swap(other);
  }
  for (const auto key : {&BoundaryVertex::b, &BoundaryVertex::a}) {
    order_by_bucket(
        std::ssize(found), k, team, [&](int64_t i) { return found[i].*key; }, first,
        [&](int64_t i, int64_t position) { other[position] = found[i]; });
    found.swap(other);
  }
}

// Appends the boundary vertices among `some` of all pairs a < b with an active block, in the order of `some`.
// Returns the number of scanned edges.
inline int64_t append_boundary_vertices(const AnyGraph& g, const AnyDistance& distance,
                                        const std::vector<int32_t>& block, std::span<const int32_t> some,
                                        const std::vector<uint8_t>& active, BoundaryVertices& found) {
  struct Last {
    int32_t vertex = -1;  // the one entered last
    size_t place = 0;     // its entry
    int64_t distance = 0;
  };
  std::vector<Last> last(active.size());  // of each block
  const AnyGraph::AnyWeights weight = g.weight;  // copies, because entries are written in between
  const int64_t* start = g.start;
  const int32_t *adj = g.adj, *of = block.data();
  const uint8_t* is_active = active.data();
  int64_t scanned = 0;
  for (const int32_t v : some) {
    const int32_t p = of[v];
    const int64_t begin = start[v], end = start[v + 1];
    scanned += end - begin;
    for (int64_t e = begin; e < end; ++e) {
      const int32_t q = of[adj[e]];
      if (p == q || !(is_active[p] || is_active[q])) continue;
      Last& near = last[q];
      if (near.vertex != v) {
        near = {v, found.size(), distance(p, q)};
        found.push_back({std::min(p, q), std::max(p, q), v, 0});
      }
      found[near.place].cost += weight[e] * near.distance;
    }
  }
  return scanned;
}

// Lists the boundary vertices of all pairs a < b with an active block, sorted by pair, then by vertex.
// `on_boundary` are all vertices with a neighbour in another block. Ranges of them are looked at side by side
// if there are several, and not so many blocks that the arrays of each range would cost more than it does.
inline void find_boundary_vertices(const AnyGraph& g, const AnyDistance& distance,
                                   const std::vector<int32_t>& block, std::span<const int32_t> on_boundary,
                                   const std::vector<uint8_t>& active, const Control& control,
                                   BoundaryVertices& boundary) {
  constexpr int64_t range = 1 << 9;
  const int64_t count = std::ssize(on_boundary), ranges = (count + range - 1) / range;
  const bool by_ranges = ranges > 1 && std::ssize(active) <= range;
  boundary.clear();
  if (!by_ranges) {
    control.record_work(append_boundary_vertices(g, distance, block, on_boundary, active, boundary));
  } else {
    std::vector<BoundaryVertices> found(ranges);
    std::vector<int64_t> scanned(ranges), first(ranges + 1, 0);
    parallel_ranges(count, range, control.team(), [&](int32_t, int64_t begin, int64_t end) {
      const int64_t i = begin / range;
      scanned[i] = append_boundary_vertices(g, distance, block, on_boundary.subspan(begin, end - begin),
                                            active, found[i]);
    });
    for (int64_t i = 0; i < ranges; ++i) first[i + 1] = first[i] + std::ssize(found[i]);
    boundary.resize(first[ranges]);
    parallel_ranges(ranges, 16, control.team(), [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy(found[i].begin(), found[i].end(), boundary.begin() + first[i]);
    });
    control.record_parallel_work(std::accumulate(scanned.begin(), scanned.end(), int64_t{0}),
                                 *std::max_element(scanned.begin(), scanned.end()));
  }
  sort_by_blocks(std::ssize(active), control.team(), boundary);
}

}  // namespace hopbytes
