// Binds the parts of a multilevel mapping in which all threads work on one level of a large graph.

#include "graph/unit_weight.hpp"
#include "partition/coarsening/parallel_contraction.hpp"
#include "partition/coarsening/synchronous_clustering.hpp"
#include "partition/refinement/synchronous_moves.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"
#include "util/parallel.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using ByteArray = OutArray<uint8_t>;

namespace {

// Offsets, targets, weights of 32 bits, weights of 64 bits, and loads. Of the weights one array at most has
// entries; without any the edges weigh 1 each.
using LevelArrays =
    std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;

// Calls work(graph) with a view of the arrays.
template <class Work> auto on_level(const LevelArrays& arrays, Team& team, Work work) {
  const auto& [start, target, narrow, wide, loads] = arrays;
  expect_graph(in(start), in(target), std::max(narrow.size(), wide.size()), loads.size(), team);
  expect(loads.size() + 1 == start.size(), "arrays of a graph");
  const auto view = [&](auto graph) {
    graph.n = static_cast<int64_t>(start.size()) - 1;
    graph.start = start.data();
    graph.adj = target.data();
    graph.load = Weights(loads.data());
    return graph;
  };
  if (narrow.size() != 0) {
    auto graph = view(Graph<int32_t>());
    graph.weight = Weights(narrow.data());
    return work(graph);
  }
  if (wide.size() != 0) {
    auto graph = view(Graph<int64_t>());
    graph.weight = Weights(wide.data());
    return work(graph);
  }
  return work(view(Graph<UnitWeight>()));
}

}  // namespace

void bind_parallel(nb::module_& m) {
  m.def(
      "cluster_synchronously",
      [](LevelArrays arrays, ControlArrays control_arrays, int64_t max_cluster, int64_t fewest,
         int64_t local_range, uint64_t seed, int32_t threads, InArray<int32_t> community,
         OutArray<int32_t> map) {
        const SynchronousContext context{max_cluster, fewest, local_range, seed,
                                         community.size() == 0 ? nullptr : community.data()};
        const ReleasedLock released;
        const TeamOfCall team(threads);
        expect(community.size() == 0 || community.size() == map.size(), "communities");
        expect(map.size() + 1 == std::get<0>(arrays).size(), "clusters");
        return on_level(arrays, team, [&](const auto& graph) {
          const Control control = control_of(control_arrays);
          const Clusters clusters = cluster_synchronously(graph, context, team, control);
          number_clusters(clusters, team, out(map));
          return clusters.count;
        });
      },
      "graph"_a.noconvert(), "control"_a.noconvert(), "max_cluster"_a, "fewest"_a, "local_range"_a, "seed"_a,
      "threads"_a, "communities"_a.noconvert(), "map"_a.noconvert());
  m.def(
      "contract_in_parallel",
      [](LevelArrays arrays, ControlArrays control_arrays, InArray<int32_t> map, int64_t count,
         int32_t threads, OutArray<int64_t> indptr, OutArray<int32_t> targets, OutArray<int32_t> narrow,
         OutArray<int64_t> wide, OutArray<int64_t> loads) {
        const ReleasedLock released;
        const TeamOfCall team(threads);
        expect(map.size() + 1 == std::get<0>(arrays).size(), "clusters");
        expect_below(in(map), count, "clusters", team);
        on_level(arrays, team, [&]<class W>(const Graph<W>& graph) {
          control_of(control_arrays)
              .record_parallel_work(graph.arcs(), most_arcs_of_range(graph, kVerticesPerRange));
          const auto contract = [&](auto weights) {
            contract_in_parallel(graph, in(map), count, team,
                                 CoarseArrays{out(indptr), out(targets), weights, out(loads)});
          };
          if (std::is_same_v<W, int32_t> || narrow.size() != 0) contract(out(narrow));
          else if constexpr (!std::is_same_v<W, int32_t>) contract(out(wide));
          return 0;
        });
      },
      "graph"_a.noconvert(), "control"_a.noconvert(), "map"_a.noconvert(), "count"_a, "threads"_a,
      "coarse_indptr"_a.noconvert(), "coarse_targets"_a.noconvert(), "narrow_coarse_weights"_a.noconvert(),
      "wide_coarse_weights"_a.noconvert(), "coarse_loads"_a.noconvert());
  m.def(
      "move_synchronously",
      [](LevelArrays arrays, DistanceArrays distances, ControlArrays control_arrays,
         InArray<int64_t> max_block_weight, int32_t rounds, int32_t threads, ByteArray near_boundary,
         OutArray<int32_t> pe) {
        const ReleasedLock released;
        const TeamOfCall team(threads);
        const size_t n = std::get<0>(arrays).size() - 1;
        expect_placement(out(pe), n, static_cast<int64_t>(max_block_weight.size()), team);
        expect(near_boundary.size() == n, "marks of vertices");
        return on_level(arrays, team, [&](const auto& graph) {
          const auto& [label, bit_cost, table] = distances;
          const AnyDistance distance =
              any_distance(in(label), in(bit_cost), in(table), max_block_weight.size());
          SynchronousMoves moves(graph, distance, in(max_block_weight), out(pe), out(near_boundary), team);
          return moves.refine(rounds, control_of(control_arrays));
        });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "control"_a.noconvert(),
      "max_block_weights"_a.noconvert(), "rounds"_a, "threads"_a, "near_boundary"_a.noconvert(),
      "pe"_a.noconvert());
}
