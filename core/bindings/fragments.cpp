// Binds the two steps by which road-like graphs are coarsened.
#include "partition/coarsening/natural_cuts.hpp"
#include "partition/coarsening/parallel_contraction.hpp"
#include "partition/coarsening/tree_parts.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

void bind_fragments(nb::module_& m) {
  define(m, "cluster_tree_parts",
         [](const GraphArrays& arrays, int64_t max_cluster, In<int32_t> community, Out<int32_t> map) {
           expect(std::ssize(map) == arrays.n() && (community.empty() || community.size() == map.size()),
                  "clusters");
           return on_graph(arrays, {}, [&](const auto& graph) {
             const Clusters clusters =
                 cluster_tree_parts(graph, community.empty() ? nullptr : community.data(), max_cluster);
             number_clusters(clusters, Team::alone(), map);
             return clusters.count;
           });
         });
  define(m, "fragments_between_natural_cuts",
         [](const GraphArrays& arrays, Control control, int64_t region, int64_t cores_per_region,
            int64_t most_work, uint64_t seed, Out<int32_t> map) {
           expect(std::ssize(map) == arrays.n(), "clusters");
           return on_graph(arrays, {}, [&](const auto& graph) {
             Rng rng(seed);
             const NaturalCutContext context{region, cores_per_region, most_work};
             const Clusters clusters = fragments_between_natural_cuts(graph, context, rng, control);
             number_clusters(clusters, Team::alone(), map);
             return clusters.count;
           });
         });
}
