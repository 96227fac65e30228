// Binds refine.hpp, which takes longest to compile: for two widths of weights and all forms of distance.
#include "refine.hpp"

#include "search_arguments.hpp"
#include "search_settings.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

RefineOptions refine_options(const nb::dict& given) {
  NamedSettings settings(given);
  RefineOptions options;
  settings.read("cycles", options.cycles);
  settings.read("coarsest", options.coarsest);
  settings.read("chains", options.chains);
  settings.read("threads", options.threads);
  read_search(settings, options.search, options.flow);
  settings.expect_all_read();
  return options;
}

}  // namespace

void bind_refine(nb::module_& m) {
  m.def(
      "refine_placement",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int64_t> max_block_weight, uint64_t seed,
         const nb::dict& given, InArray<int32_t> others, OutArray<int32_t> pe) {
        RefineOptions options = refine_options(given);
        nb::gil_scoped_release release;
        options.others = in(others);
        return on_both(arrays, linear_cost, distances, max_block_weight.size(),
                       [&](const auto& graph, const auto& distance) {
                         return refine_placement(graph, distance, in(max_block_weight), seed, options,
                                                 control_of(control_arrays), out(pe));
                       });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "max_block_weights"_a.noconvert(), "seed"_a, "settings"_a, "others"_a.noconvert(),
      "pe"_a.noconvert());
}
