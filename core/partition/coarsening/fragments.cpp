#include "partition/coarsening/fragments.hpp"

#include <algorithm>

#include "partition/coarsening/coarsen.hpp"
#include "partition/coarsening/contraction.hpp"
#include "partition/coarsening/natural_cuts.hpp"
#include "partition/coarsening/tree_parts.hpp"

namespace hopbytes {

namespace {

// Adds a level, unless the clusters would shrink the graph too little.
template <class W>
void contract_coarsest(Hierarchy<W>& hierarchy, const Clusters& clusters, const Control& control) {
  const Graph<W>& fine = hierarchy.coarsest();
  control.record_work(2 * fine.arcs());
  if (clusters.count > fine.n * 19 / 20 || control.should_stop()) return;
  hierarchy.push(contract(fine, clusters, team_for(fine, control)));
}

}  // namespace

bool is_road_like(const GraphShape& g, const FragmentContext& context) {
  constexpr int64_t most_arcs_of_ten = 32, low_of_ten = 1;
  if (g.n < context.fewest_vertices || g.linear_cost || g.uneven || 10 * g.arcs() > most_arcs_of_ten * g.n)
    return false;
  int64_t low = 0;
  for (int64_t v = 0; v < g.n; ++v) low += g.degree(v) <= 2;
  return 10 * low >= low_of_ten * g.n;
}

template <class W>
Hierarchy<W> coarsen_to_fragments(const Graph<W>& g, int64_t block_weight, const FragmentContext& context,
                                  Rng& rng, const Control& control) {
  Hierarchy<W> hierarchy(g);
  const int64_t tree = std::max(block_weight / context.trees_per_block, average_pair(g));
  contract_coarsest(hierarchy, cluster_tree_parts(g, nullptr, tree), control);
  if (hierarchy.size() == 0) return hierarchy;
  const NaturalCutContext cuts{block_weight / context.regions_per_block, context.cores_per_region,
                               context.most_work};
  const Graph<W>& fine = hierarchy.coarsest();
  contract_coarsest(hierarchy, fragments_between_natural_cuts(fine, cuts, rng, control), control);
  return hierarchy;
}

template Hierarchy<int32_t> coarsen_to_fragments(const Graph<int32_t>&, int64_t, const FragmentContext&, Rng&,
                                                 const Control&);
template Hierarchy<int64_t> coarsen_to_fragments(const Graph<int64_t>&, int64_t, const FragmentContext&, Rng&,
                                                 const Control&);

}  // namespace hopbytes
