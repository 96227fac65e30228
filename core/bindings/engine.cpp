// Binds partition.hpp, refine.hpp and coarse_levels.hpp.
#include "coarse_levels.hpp"
#include "partition.hpp"
#include "refine.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

// Reads Python's SearchSettings, flattened from position `at` on.
void read_search(std::span<const int64_t> set, size_t at, SearchOptions& search, FlowOptions& flow) {
  search.rounds = static_cast<int32_t>(set[at]);
  search.fruitless_moves = static_cast<int32_t>(set[at + 1]);
  search.seeds = static_cast<int32_t>(set[at + 2]);
  flow.rounds = static_cast<int32_t>(set[at + 3]);
  flow.width = static_cast<double>(set[at + 4]);
  search.overload_percent = static_cast<int32_t>(set[at + 5]);
}

}  // namespace

void bind_engine(nb::module_& m) {
  m.def(
      "partition_many",
      [](GraphArrays arrays, LinearCostArrays linear_cost, ControlArrays control_arrays,
         InArray<int32_t> group, InArray<int64_t> block_start, InArray<int64_t> max_block_weight,
         InArray<uint64_t> seed, InArray<int32_t> candidates, InArray<int64_t> settings,
         OutArray<int32_t> child, OutArray<int64_t> cut) {
        nb::gil_scoped_release release;
        const auto set = in(settings);
        ManyOptions options;
        options.repetitions = static_cast<int32_t>(set[0]);
        options.recombinations = static_cast<int32_t>(set[1]);
        options.threads = static_cast<int32_t>(set[2]);
        options.partition.initial_partitions = static_cast<int32_t>(set[3]);
        options.partition.contraction_limit = static_cast<int32_t>(set[4]);
        options.partition.coarsest = static_cast<int32_t>(set[5]);
        options.partition.growing_repetitions = static_cast<int32_t>(set[6]);
        options.partition.recombinations = static_cast<int32_t>(set[7]);
        options.bisection_repetitions = static_cast<int32_t>(set[8]);
        options.partition.hierarchies = static_cast<int32_t>(set[9]);
        read_search(set, 10, options.partition.search, options.partition.flow);
        options.finished = std::get<0>(control_arrays).data() + 1;
        on_graph(arrays, linear_cost, [&](const auto& graph) {
          partition_many(graph, in(group), in(block_start), in(max_block_weight), in(seed), in(candidates),
                         options, control_of(control_arrays), out(child), out(cut));
        });
      },
      "graph"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(), "group"_a.noconvert(),
      "block_start"_a.noconvert(), "max_block_weights"_a.noconvert(), "seeds"_a.noconvert(),
      "candidates"_a.noconvert(), "settings"_a.noconvert(), "child"_a.noconvert(), "cut"_a.noconvert());
  m.def(
      "refine_placement",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int64_t> max_block_weight, uint64_t seed,
         InArray<int64_t> settings, InArray<int32_t> others, OutArray<int32_t> pe) {
        nb::gil_scoped_release release;
        const auto set = in(settings);
        RefineOptions options;
        options.cycles = static_cast<int32_t>(set[0]);
        options.coarsest = static_cast<int32_t>(set[1]);
        read_search(set, 2, options.search, options.flow);
        options.chains = static_cast<int32_t>(set[8]);
        options.threads = static_cast<int32_t>(set[9]);
        options.others = in(others);
        return on_both(arrays, linear_cost, distances, max_block_weight.size(),
                       [&](const auto& graph, const auto& distance) {
                         return refine_placement(graph, distance, in(max_block_weight), seed, options,
                                                 control_of(control_arrays), out(pe));
                       });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "max_block_weights"_a.noconvert(), "seed"_a, "settings"_a.noconvert(), "others"_a.noconvert(),
      "pe"_a.noconvert());
  m.def(
      "coarsen_once",
      [](GraphArrays arrays, LinearCostArrays linear_cost, ControlArrays control_arrays,
         InArray<int64_t> max_block_weight, int64_t per_block, int64_t fewest, uint64_t seed,
         OutArray<int32_t> maps, OutArray<int64_t> sizes) {
        nb::gil_scoped_release release;
        return on_graph(arrays, linear_cost, [&](const auto& graph) {
          return coarsen_once(graph, CoarseSize(graph, in(max_block_weight), per_block, fewest), seed,
                              control_of(control_arrays), out(maps), out(sizes));
        });
      },
      "graph"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "max_block_weights"_a.noconvert(), "per_block"_a, "fewest"_a, "seed"_a, "maps"_a.noconvert(),
      "sizes"_a.noconvert());
}
