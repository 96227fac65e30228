// Contraction of clusters.
#pragma once
#include "partition/coarsening/clusters.hpp"
#include "partition/hierarchy.hpp"

namespace hopbytes {

// Contracts clusters: loads are summed, parallel edges are merged, and edges inside a cluster vanish. Coarse
// vertices are numbered in the order of the leaders, which keeps neighbours close in memory. The result is
// the same for any number of threads. O(n + m) work.
template <class W> Level<W> contract(const Graph<W>& g, const Clusters& clusters, Team& team);

}  // namespace hopbytes
