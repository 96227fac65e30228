// Coarsening of sparse graphs such as road and power networks to the fragments between natural cuts.
#pragma once
#include "partition/context.hpp"
#include "partition/hierarchy.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Returns whether a graph is like a road or power network: not too few vertices, few edges, several vertices
// in trees or chains, similar weights, and no linear assignment costs. O(n).
bool is_road_like(const GraphShape& g, const FragmentContext& context);

// Contracts trees and chains, then the fragments between natural cuts, for blocks that hold `block_weight`.
// The hierarchy is empty if that contracts too little or control asks to stop. The graph has to outlive it.
template <class W>
Hierarchy<W> coarsen_to_fragments(const Graph<W>& g, int64_t block_weight, const FragmentContext& context,
                                  Rng& rng, const Control& control);

}  // namespace hopbytes
