// Clusters of vertices along heavy edges, found by several threads.
#pragma once
#include "graph/graph.hpp"
#include "partition/coarsening/clusters.hpp"
#include "partition/context.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Like cluster_heavy_edges for several threads, in two steps. First the vertices of every range of
// consecutive numbers are clustered among themselves, as one thread would; a vertex waits if an edge that
// leaves its range has a better rating, or by chance if it has an equal one. Neighbours usually have close
// numbers. Then those that are still alone are visited in rounds, one for each of few classes, which a hash
// of the number decides. A vertex chooses the adjacent cluster with the best rating as all clusters were
// before the round; one that may itself move in the round is not chosen. Where more vertices choose a
// cluster than it has room for, those with small numbers join it. If many vertices stay alone nevertheless,
// those that prefer the same neighbour are joined in pairs. The clusters do not depend on the number of
// threads. O(n + m) work; one thread sorts the vertices that are alone into classes and forms the pairs.
template <class W>
Clusters cluster_synchronously(const Graph<W>& g, const SynchronousContext& context, Team& team,
                               const Control& control);

}  // namespace hopbytes
