// Binds pair_search.hpp, chains.hpp and constructions.hpp: one task per slot. What uses Exchange is compiled
// here and what uses SwapSearch in slot_groups.cpp, so that neither is compiled twice.
#include "assignment/chains.hpp"
#include "assignment/constructions.hpp"
#include "assignment/pair_search.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

enum PairSearch { all_pairs = 0, blocks = 1, near_pairs = 2, listed_pairs = 3 };

}  // namespace

void bind_slots(nb::module_& m) {
  m.def(
      "pair_search",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, int kind, int64_t reach, InArray<int32_t> order,
         InArray<int64_t> capacity, OutArray<int32_t> pe, OutArray<int64_t> counted) {
        const ReleasedLock released;
        expect_placement_of(arrays, out(pe), capacity.size());
        const Control control = control_of(control_arrays);
        PairCounts counts;
        on_both(arrays, linear_cost, distances, capacity.size(),
                [&](const auto& graph, const auto& distance) {
                  Exchange exchange(graph, distance, in(capacity), out(pe));
                  if (kind == all_pairs) search_all_pairs(exchange, control, counts);
                  if (kind == blocks) search_blocks(exchange, reach, control, counts);
                  if (kind == near_pairs) search_near_pairs(exchange, reach, in(order), control, counts);
                  if (kind == listed_pairs) search_listed_pairs(exchange, in(order), control, counts);
                });
        control.record_work(counts.scanned_edges);
        out(counted)[0] = counts.evaluations;
        out(counted)[1] = counts.swaps;
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "kind"_a, "reach"_a, "order"_a.noconvert(), "capacities"_a.noconvert(), "pe"_a.noconvert(),
      "counted"_a.noconvert());
  m.def(
      "chain_search",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, int64_t fruitless_exchanges, int64_t budget, InArray<int32_t> order,
         InArray<int64_t> capacity, OutArray<int32_t> pe, OutArray<int64_t> counted) {
        const ReleasedLock released;
        expect_placement_of(arrays, out(pe), capacity.size());
        const Control control = control_of(control_arrays);
        const auto k = static_cast<int64_t>(capacity.size());
        PairCounts counts;
        on_both(
            arrays, linear_cost, distances, capacity.size(), [&](const auto& graph, const auto& distance) {
              Exchange exchange(graph, distance, in(capacity), out(pe));
              ChainSearch(exchange, out(pe), k, fruitless_exchanges, budget, control, counts).run(in(order));
            });
        control.record_work(counts.scanned_edges);
        out(counted)[0] = counts.evaluations;
        out(counted)[1] = counts.swaps;
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "fruitless_exchanges"_a, "budget"_a, "order"_a.noconvert(), "capacities"_a.noconvert(),
      "pe"_a.noconvert(), "counted"_a.noconvert());
  m.def(
      "place_greedily",
      [](GraphArrays arrays, DistanceArrays distances, ControlArrays control_arrays, bool linked,
         InArray<int64_t> room, OutArray<int32_t> pe) {
        const ReleasedLock released;
        on_both(arrays, {}, distances, room.size(), [&](const auto& graph, const auto& distance) {
          place_greedily(graph, distance, in(room), linked, control_of(control_arrays), out(pe));
        });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "control"_a.noconvert(), "linked"_a,
      "room"_a.noconvert(), "pe"_a.noconvert());
}
