// Binds pair_search.hpp, swap_refine.hpp and constructions.hpp: one task per slot.
#include "constructions.hpp"
#include "pair_search.hpp"
#include "search_arguments.hpp"
#include "swap_refine.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

enum PairSearch { all_pairs = 0, blocks = 1, near_pairs = 2 };

}  // namespace

void bind_slots(nb::module_& m) {
  m.def(
      "pair_search",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, int kind, int64_t reach, InArray<int32_t> order,
         InArray<int64_t> capacity, OutArray<int32_t> pe, OutArray<int64_t> counted) {
        nb::gil_scoped_release release;
        const Control control = control_of(control_arrays);
        PairCounts counts;
        on_both(arrays, linear_cost, distances, capacity.size(),
                [&](const auto& graph, const auto& distance) {
                  Exchange exchange(graph, distance, in(capacity), out(pe));
                  if (kind == all_pairs) search_all_pairs(exchange, control, counts);
                  if (kind == blocks) search_blocks(exchange, reach, control, counts);
                  if (kind == near_pairs) search_near_pairs(exchange, reach, in(order), control, counts);
                });
        control.record_work(counts.scanned_edges);
        out(counted)[0] = counts.evaluations;
        out(counted)[1] = counts.swaps;
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "kind"_a, "reach"_a, "order"_a.noconvert(), "capacities"_a.noconvert(), "pe"_a.noconvert(),
      "counted"_a.noconvert());
  m.def(
      "swap_refine",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int64_t> capacity, uint64_t seed, InArray<int64_t> settings,
         OutArray<int32_t> pe, OutArray<int64_t> counted) {
        nb::gil_scoped_release release;
        SwapOptions options;
        options.all_pairs_up_to = in(settings)[0];
        options.reach = in(settings)[1];
        options.chains = in(settings)[2];
        options.steps = in(settings)[3];
        options.perturbation_work = in(settings)[4];
        options.threads = static_cast<int32_t>(in(settings)[5]);
        SwapCounts counts;
        const int64_t change = on_both(arrays, linear_cost, distances, capacity.size(),
                                       [&](const auto& graph, const auto& distance) {
                                         return swap_refine(graph, distance, in(capacity), seed, options,
                                                            control_of(control_arrays), out(pe), counts);
                                       });
        out(counted)[0] = counts.evaluations;
        out(counted)[1] = counts.swaps;
        return change;
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "capacities"_a.noconvert(), "seed"_a, "settings"_a.noconvert(), "pe"_a.noconvert(),
      "counted"_a.noconvert());
  m.def(
      "place_greedily",
      [](GraphArrays arrays, DistanceArrays distances, ControlArrays control_arrays, bool linked,
         InArray<int64_t> room, OutArray<int32_t> pe) {
        nb::gil_scoped_release release;
        on_both(arrays, {}, distances, room.size(), [&](const auto& graph, const auto& distance) {
          place_greedily(graph, distance, in(room), linked, control_of(control_arrays), out(pe));
        });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "control"_a.noconvert(), "linked"_a,
      "room"_a.noconvert(), "pe"_a.noconvert());
}
