// Binds the parts of a multilevel mapping in which all threads work on one level of a large graph, and the
// two steps by which road-like graphs are coarsened.
#include "partition/coarsening/natural_cuts.hpp"
#include "partition/coarsening/contraction.hpp"
#include "partition/coarsening/synchronous_clustering.hpp"
#include "partition/coarsening/tree_parts.hpp"
#include "partition/refinement/synchronous_moves.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

namespace {

// Of the weights of 32 and of 64 bits one array at most has entries; without any the edges weigh 1 each.
struct LevelArrays {
  In<int64_t> start;
  In<int32_t> target, narrow;
  In<int64_t> wide, load;
  int64_t n() const { return std::ssize(start) - 1; }
};
auto fields(LevelArrays& r) { return std::tie(r.start, r.target, r.narrow, r.wide, r.load); }

// Calls work(graph) with a view of the arrays.
template <class Work> auto on_level(const LevelArrays& a, Team& team, Work work) {
  expect_graph(Csr{a.start, a.target, a.wide}, team);
  expect((a.narrow.empty() || a.narrow.size() == a.target.size()) && std::ssize(a.load) == a.n(),
         "arrays of a graph");
  const auto on = [&]<class W>(In<W> weight) {
    Graph<W> graph;
    graph.n = a.n();
    graph.start = a.start.data();
    graph.adj = a.target.data();
    graph.load = Weights(a.load.data());
    if (!weight.empty()) graph.weight = Weights(weight.data());
    return work(graph);
  };
  return a.wide.empty() ? on(a.narrow) : on(a.wide);
}

}  // namespace

void bind_parallel(nb::module_& m) {
  define(m, "cluster_synchronously",
         [](const LevelArrays& arrays, Control control, int64_t max_cluster, int64_t fewest,
            int64_t local_range, uint64_t seed, Team& team, In<int32_t> community, Out<int32_t> map) {
           const SynchronousContext context{max_cluster, fewest, local_range, seed,
                                            community.empty() ? nullptr : community.data()};
           expect(local_range > 0 && (community.empty() || community.size() == map.size()), "communities");
           expect(std::ssize(map) == arrays.n(), "clusters");
           return on_level(arrays, team, [&](const auto& graph) {
             const Clusters clusters = cluster_synchronously(graph, context, team, control);
             number_clusters(clusters, team, map);
             return clusters.count;
           });
         });
  define(m, "contract_in_parallel",
         [](const LevelArrays& arrays, Control control, In<int32_t> map, int64_t count, Team& team,
            Out<int64_t> indptr, Out<int32_t> targets, Out<int32_t> narrow, Out<int64_t> wide,
            Out<int64_t> loads) {
           expect(std::ssize(map) == arrays.n() && std::ssize(indptr) == count + 1 &&
                      std::ssize(loads) == count && targets.size() >= arrays.target.size() &&
                      (narrow.empty() ? wide.size() : narrow.size()) >= arrays.target.size(),
                  "clusters");
           expect_below(map, count, "clusters", team);
           on_level(arrays, team, [&](const auto& graph) {
             control.record_parallel_work(graph.arcs(), most_arcs_of_range(graph, kVerticesPerRange));
             const auto contract = [&](auto weights) {
               contract_to(graph, map, count, team, CoarseArrays{indptr, targets, weights, loads});
             };
             if (narrow.empty()) contract(wide);
             else contract(narrow);
             return 0;
           });
         });
  define(m, "move_synchronously",
         [](const LevelArrays& arrays, const DistanceArrays& distances, Control control,
            In<int64_t> max_block_weight, int32_t rounds, Team& team, Out<uint8_t> near_boundary,
            Out<int32_t> pe) {
           expect_placement(pe, arrays.n(), std::ssize(max_block_weight), team);
           expect(near_boundary.size() == pe.size(), "marks of vertices");
           const AnyDistance distance = any_distance(distances, max_block_weight.size());
           return on_level(arrays, team, [&](const auto& graph) {
             return move_synchronously(graph, distance, max_block_weight, rounds, control.with_team(team),
                                       near_boundary, pe)
                 .count;
           });
         });
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
