// Two-hop matching.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "partition/coarsening/clusters.hpp"

namespace hopbytes {

// Matches vertices that are not matched yet and rate the same neighbour highest with each other. `order`
// holds all vertices. Isolated vertices are matched with each other; otherwise a graph of many small
// components would never shrink. O(n + m).
template <class W>
void match_two_hop(const Graph<W>& g, const int32_t* community, int64_t max_cluster,
                   const std::vector<int32_t>& order, const std::vector<uint8_t>& matched,
                   Clusters& clusters);

}  // namespace hopbytes
