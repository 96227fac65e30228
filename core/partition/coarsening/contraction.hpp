// Contraction of clusters.
#pragma once
#include "partition/coarsening/clusters.hpp"
#include "partition/hierarchy.hpp"

namespace hopbytes {

// Contracts clusters: loads are summed, parallel edges are merged, and edges inside a cluster vanish. Coarse
// vertices are numbered in the order of the leaders, which keeps neighbours close in memory. The result is
// the same for any number of threads. O(n + m) work.
template <class W> Level<W> contract(const Graph<W>& g, const Clusters& clusters, Team& team);

// Writes the coarse vertex of every vertex: coarse vertices are numbered in the order of the leaders. O(n).
void number_clusters(const Clusters& clusters, Team& team, std::span<int32_t> map);

// Arrays for a coarse graph; those of arcs have room for the arcs of the graph that is contracted.
template <class Weight> struct CoarseArrays {
  std::span<int64_t> start;  // coarse vertices + 1
  std::span<int32_t> adj;
  std::span<Weight> weight;
  std::span<int64_t> load;
};

// Contracts all vertices of the same coarse vertex. O(n + m) work.
template <class W, class Weight>
void contract_to(const Graph<W>& g, std::span<const int32_t> map, int64_t count, Team& team,
                 const CoarseArrays<Weight>& coarse);

}  // namespace hopbytes
