// Clusters of vertices along heavy edges, found by several threads.
#pragma once
#include "partition/coarsening/clustering.hpp"

namespace hopbytes {

// Like cluster_heavy_edges, but the vertices are visited in rounds. Each vertex belongs to one of few classes
// by a hash of its number. In the round of its class a vertex that is still alone chooses the adjacent cluster
// with the best rating as all clusters were before the round; a vertex of the same class that is alone itself
// may move and is not chosen. Where more vertices choose a cluster than it has room for, those that come first
// in the order of the class join it. So the clusters do not depend on the number of threads. The rounds end
// when at most `fewest` clusters are left. Where many vertices stay alone, those that prefer the same
// neighbour are joined in pairs. O(n + m) work; only the pairs are formed by one thread.
template <class W>
Clusters cluster_synchronously(const Graph<W>& g, const CoarseningContext& context, int64_t fewest,
                               uint64_t seed, int32_t threads, const Control& control);

}  // namespace hopbytes
