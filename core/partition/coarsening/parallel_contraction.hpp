// Contraction of clusters by several threads.
#pragma once
#include "partition/coarsening/clustering.hpp"
#include "partition/hierarchy.hpp"

namespace hopbytes {

// Returns the coarse vertex of every vertex: coarse vertices are numbered in the order of the leaders. O(n).
std::vector<int32_t> number_clusters(const Clusters& clusters, int32_t threads);

// Returns the same level as contract(), arc for arc, for the coarse vertex of every vertex. The graph must not
// have linear assignment costs. O(n + m) work.
template <class W>
Level<W> contract_in_parallel(const Graph<W>& g, std::vector<int32_t> map, int64_t count, int32_t threads);

}  // namespace hopbytes
