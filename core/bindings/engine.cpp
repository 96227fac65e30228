// Binds partition.hpp and coarse_levels.hpp.
#include "coarse_levels.hpp"
#include "partition.hpp"
#include "search_arguments.hpp"
#include "search_settings.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

ManyOptions many_options(const nb::dict& given) {
  NamedSettings settings(given);
  ManyOptions options;
  settings.read("repetitions", options.repetitions);
  settings.read("recombinations", options.recombinations);
  settings.read("threads", options.threads);
  settings.read("bisection_repetitions", options.bisection_repetitions);
  settings.read("initial_partitions", options.partition.initial_partitions);
  settings.read("contraction_limit", options.partition.contraction_limit);
  settings.read("coarsest", options.partition.coarsest);
  settings.read("region_growings", options.partition.growing_repetitions);
  settings.read("coarse_recombinations", options.partition.recombinations);
  settings.read("shared_hierarchies", options.partition.hierarchies);
  read_search(settings, options.partition.search, options.partition.flow);
  settings.expect_all_read();
  return options;
}

}  // namespace

void bind_engine(nb::module_& m) {
  m.def(
      "partition_many",
      [](GraphArrays arrays, LinearCostArrays linear_cost, ControlArrays control_arrays,
         InArray<int32_t> group, InArray<int64_t> block_start, InArray<int64_t> max_block_weight,
         InArray<uint64_t> seed, InArray<int32_t> candidates, const nb::dict& given, OutArray<int32_t> child,
         OutArray<int64_t> cut) {
        ManyOptions options = many_options(given);
        nb::gil_scoped_release release;
        options.finished = std::get<0>(control_arrays).data() + 1;
        on_graph(arrays, linear_cost, [&](const auto& graph) {
          partition_many(graph, in(group), in(block_start), in(max_block_weight), in(seed), in(candidates),
                         options, control_of(control_arrays), out(child), out(cut));
        });
      },
      "graph"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(), "group"_a.noconvert(),
      "block_start"_a.noconvert(), "max_block_weights"_a.noconvert(), "seeds"_a.noconvert(),
      "candidates"_a.noconvert(), "settings"_a, "child"_a.noconvert(), "cut"_a.noconvert());
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
