// Contraction of clusters by several threads.
#pragma once
#include <cstdint>
#include <span>

#include "graph/graph.hpp"
#include "partition/coarsening/clusters.hpp"

namespace hopbytes {

// Writes the coarse vertex of every vertex: coarse vertices are numbered in the order of the leaders. O(n).
void number_clusters(const Clusters& clusters, Team& team, std::span<int32_t> map);

// Arrays for a coarse graph; those of arcs have room for the arcs of the graph that is contracted.
template <class Weight> struct CoarseArrays {
  std::span<int64_t> start;  // coarse vertices + 1
  std::span<int32_t> adj;
  std::span<Weight> weight;
  std::span<int64_t> load;
};

// Contracts all vertices of the same coarse vertex: loads are summed, parallel edges are merged, and edges
// inside vanish. Weights do not become wider, unless edges weigh 1 each. The arcs of a coarse vertex stand in
// the order in which contract() lists them, too. O(n + m) work.
template <class W, class Weight>
void contract_in_parallel(const Graph<W>& g, std::span<const int32_t> map, int64_t count, Team& team,
                          const CoarseArrays<Weight>& coarse);

}  // namespace hopbytes
