#include "partition/coarsening/coarsen.hpp"

#include "partition/coarsening/clustering.hpp"
#include "partition/coarsening/contraction.hpp"
#include "partition/coarsening/synchronous_clustering.hpp"
#include "util/memory.hpp"

namespace hopbytes {

namespace {

// Returns to how many vertices a graph of n vertices is contracted.
int64_t next_size(int64_t n, const CoarseningContext& context) {
  constexpr double largest_shrink = 3.0;  // the largest factor between the sizes of two levels
  int64_t next = std::max(context.target, static_cast<int64_t>(static_cast<double>(n) / largest_shrink));
  for (const int64_t size : context.sizes)
    if (size < n - n / 4) next = std::max(next, size);
  return next;
}

template <class W>
Level<W> contract_and_count(const Graph<W>& g, const Clusters& clusters, const Control& control) {
  control.record_parallel_work(
      g.arcs(), contracted_by_ranges(g) ? most_arcs_of_range(g, vertices_per_range(g)) : g.arcs());
  return contract(g, clusters, team_for(g, control));
}

// Which clustering a round of coarsening uses. A new one is a function in a file of its own and a line here.
// Graphs of many vertices or arcs are clustered by all threads, whatever their number is, so that it does not
// change the result. Where few heavy edges matter, the ends of the heaviest ones of the whole graph have to
// come first.
template <class W>
Clusters clusters_of(const Graph<W>& g, const int32_t* community, const CoarseningContext& context,
                     int64_t fewest, Rng& rng, const Control& control) {
  constexpr int64_t many_vertices = 1 << 15, many_arcs = 1 << 19;
  if ((g.n < many_vertices && g.arcs() < many_arcs) || context.heaviest_edges_first) {
    control.record_work(g.arcs());
    return cluster_heavy_edges(g, community, context, fewest, rng, control);
  }
  const int64_t local_range = g.n < many_vertices ? vertices_per_range(g) : kVerticesPerRange;
  return cluster_synchronously(g, {context.max_cluster, fewest, local_range, rng.next(), community},
                               control.team(), control);
}

}  // namespace

template <class W>
Hierarchy<W> coarsen(const Graph<W>& g, const int32_t* community, const CoarseningContext& context, Rng& rng,
                     const Control& control) {
  release_freed_memory(g.arcs());
  Hierarchy<W> hierarchy(g);
  std::vector<int32_t> labels;
  if (g.linear_cost) {  // Vertices with different forbidden blocks are never clustered together.
    labels = g.linear_cost->labels(community);
    community = labels.data();
  }
  UnsetVector<int32_t> coarse_community;
  while (hierarchy.coarsest().n > context.target) {
    const Graph<W>& fine = hierarchy.coarsest();
    const int64_t fewest = next_size(fine.n, context);
    const Clusters clusters = clusters_of(fine, community, context, fewest, rng, control);
    if (clusters.count > fine.n * 19 / 20 || control.should_stop()) break;
    Level<W> level = contract_and_count(fine, clusters, control);
    if (community) {
      const std::span<const int32_t> fine_community(community, fine.n);
      coarse_community = level.coarse_values(fine_community, team_for(fine, control));
      community = coarse_community.data();
    }
    hierarchy.push(std::move(level));
  }
  return hierarchy;
}

template Hierarchy<int32_t> coarsen(const Graph<int32_t>&, const int32_t*, const CoarseningContext&, Rng&,
                                    const Control&);
template Hierarchy<int64_t> coarsen(const Graph<int64_t>&, const int32_t*, const CoarseningContext&, Rng&,
                                    const Control&);

}  // namespace hopbytes
