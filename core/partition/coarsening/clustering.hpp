// Clusters of vertices along heavy edges, which coarsening contracts.
#pragma once
#include <cstdint>

#include "graph/graph.hpp"
#include "partition/coarsening/clusters.hpp"
#include "partition/context.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Clusters vertices along heavy edges. The vertices are visited in random order, or the ends of heavy edges
// first. A vertex that is still alone joins the adjacent cluster with the best rating: the squared weight of
// the edges to the cluster over the load of the cluster. Only vertices of equal communities are clustered
// together (null: all may be), and no cluster becomes heavier than context.max_cluster. The round ends when
// `fewest` clusters are left, so that consecutive levels differ by a small factor only. Where many vertices
// stay unmatched (stars, scale-free graphs), two-hop matching follows. O(n + m).
template <class W>
Clusters cluster_heavy_edges(const Graph<W>& g, const int32_t* community, const CoarseningContext& context,
                             int64_t fewest, Rng& rng, const Control& control);

}  // namespace hopbytes
