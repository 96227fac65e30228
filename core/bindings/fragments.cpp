// Binds the two steps by which road-like graphs are coarsened.
#include "partition/coarsening/natural_cuts.hpp"
#include "partition/coarsening/parallel_contraction.hpp"
#include "partition/coarsening/tree_parts.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_fragments(nb::module_& m) {
  m.def(
      "cluster_tree_parts",
      [](GraphArrays arrays, int64_t max_cluster, InArray<int32_t> community, OutArray<int32_t> map) {
        const ReleasedLock released;
        return on_graph(arrays, {}, [&](const auto& graph) {
          const Clusters clusters =
              cluster_tree_parts(graph, community.size() == 0 ? nullptr : community.data(), max_cluster);
          number_clusters(clusters, Team::alone(), out(map));
          return clusters.count;
        });
      },
      "graph"_a.noconvert(), "max_cluster"_a, "communities"_a.noconvert(), "map"_a.noconvert());
  m.def(
      "fragments_between_natural_cuts",
      [](GraphArrays arrays, ControlArrays control_arrays, int64_t region, int64_t cores_per_region,
         int64_t most_work, uint64_t seed, OutArray<int32_t> map) {
        const ReleasedLock released;
        return on_graph(arrays, {}, [&](const auto& graph) {
          Rng rng(seed);
          const Clusters clusters = fragments_between_natural_cuts(
              graph, NaturalCutContext{region, cores_per_region, most_work}, rng, control_of(control_arrays));
          number_clusters(clusters, Team::alone(), out(map));
          return clusters.count;
        });
      },
      "graph"_a.noconvert(), "control"_a.noconvert(), "region"_a, "cores_per_region"_a, "most_work"_a,
      "seed"_a, "map"_a.noconvert());
}
