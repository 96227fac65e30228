// Coarsening of sparse graphs such as road and power networks to the fragments between natural cuts.
#pragma once
#include "partition/coarsening/coarsen.hpp"
#include "partition/coarsening/contraction.hpp"
#include "partition/coarsening/natural_cuts.hpp"
#include "partition/coarsening/tree_parts.hpp"

namespace hopbytes {

// Returns whether a graph is like a road or power network: not too few vertices, few edges, several vertices
// in trees or chains, similar weights, and no linear assignment costs. O(n).
inline bool is_road_like(const GraphShape& g) {
  constexpr int64_t fewest_vertices = 2000, most_arcs_of_ten = 32, low_of_ten = 1;
  if (g.n < fewest_vertices || g.linear_cost || g.uneven || 10 * g.arcs() > most_arcs_of_ten * g.n)
    return false;
  int64_t low = 0;
  for (int64_t v = 0; v < g.n; ++v) low += g.degree(v) <= 2;
  return 10 * low >= low_of_ten * g.n;
}

// Contracts trees and chains, then the fragments between natural cuts, for blocks that hold `block_weight`.
// The hierarchy is empty if that contracts too little or control asks to stop. The graph has to outlive it.
template <class W>
Hierarchy<W> coarsen_to_fragments(const Graph<W>& g, int64_t block_weight, Rng& rng, const Control& control) {
  constexpr int64_t trees_per_block = 80;   // at least, so many clusters of trees and chains make a block
  constexpr int64_t regions_per_block = 8;  // in which natural cuts are searched
  Hierarchy<W> hierarchy(g);
  const auto contract_coarsest = [&](const Clusters& clusters) {
    const Graph<W>& fine = hierarchy.coarsest();
    control.record_work(2 * fine.arcs());
    const bool contracts = clusters.count <= fine.n * 19 / 20 && !control.should_stop();
    if (contracts) hierarchy.push(contract(fine, clusters, team_for(fine, control)));
    return contracts;
  };
  const int64_t tree = std::max(block_weight / trees_per_block, average_pair(g));
  if (!contract_coarsest(cluster_tree_parts(g, nullptr, tree))) return hierarchy;
  const NaturalCutContext cuts{.region = block_weight / regions_per_block};
  contract_coarsest(fragments_between_natural_cuts(hierarchy.coarsest(), cuts, rng, control));
  return hierarchy;
}

}  // namespace hopbytes
