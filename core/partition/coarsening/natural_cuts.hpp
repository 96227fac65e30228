// Fragments of a sparse graph between its natural cuts.
#pragma once
#include "graph/any_graph.hpp"
#include "partition/coarsening/clusters.hpp"
#include "util/control.hpp"

namespace hopbytes {

struct NaturalCutContext {
  int64_t region = 1;            // load of the region around a centre in which a cut is searched
  int64_t cores_per_region = 4;  // the load of a region over that of its core
  int64_t most_work = 64;        // scanned edges per arc and vertex of the graph
};

// Natural cuts (Delling, Goldberg, Razenshteyn, Werneck 2011, "Graph partitioning with natural cuts"): around
// a random centre, a breadth-first search collects a region, and a minimum cut separates its core, the
// vertices that were found first, from what lies outside the region. Such cuts lie along rivers, borders and
// other barriers, where dense parts of the graph meet. Centres are chosen until every vertex was in a core;
// what is connected without the edges of all cuts is a fragment. A fragment of several vertices is not
// heavier than a region. Returns as many clusters as vertices if the work is exceeded, as where cuts are
// large, or if control asks to stop.
Clusters fragments_between_natural_cuts(const AnyGraph& g, const NaturalCutContext& context, Rng& rng,
                                        const Control& control);

}  // namespace hopbytes
