// Binds refine.hpp, which takes longest to compile: for two widths of weights and all forms of distance.
#include "refine.hpp"

#include "search_arguments.hpp"
#include "search_settings.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_refine(nb::module_& m) {
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
}
