// Clusters of the pendant trees and chains of a sparse graph.
#pragma once
#include "graph/any_graph.hpp"
#include "partition/coarsening/clusters.hpp"

namespace hopbytes {

// Clusters the parts of a graph that an optimal partition hardly ever cuts inside. First pendant trees: a
// vertex with one neighbour joins it, again and again. Then chains: a vertex with two neighbours that are
// left joins the one with the heavier edge, or, of equal edges, the lighter one. Only vertices of equal
// communities are clustered together (null: all may be), and no cluster becomes heavier than `max_cluster`;
// a subtree that would is left as a neighbour like others. No random numbers. O(n + m).
Clusters cluster_tree_parts(const AnyGraph& g, const int32_t* community, int64_t max_cluster);

}  // namespace hopbytes
