// Binds chains.hpp and pairwise_repartition.hpp: one task per slot, several tasks at a time.
#include "chains.hpp"
#include "pairwise_repartition.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_slot_groups(nb::module_& m) {
  m.def(
      "chain_search",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, int64_t fruitless_exchanges, int64_t budget, InArray<int32_t> order,
         InArray<int64_t> capacity, OutArray<int32_t> pe, OutArray<int64_t> counted) {
        nb::gil_scoped_release release;
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
      "repartition_pairs",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int32_t> pairs, InArray<int64_t> unit_start,
         InArray<int64_t> settings, uint64_t seed, InArray<int64_t> capacity, OutArray<int32_t> pe,
         OutArray<int64_t> counted) {
        nb::gil_scoped_release release;
        const Control control = control_of(control_arrays);
        const RepartitionOptions options{in(settings)[0], in(settings)[1], in(settings)[2]};
        on_both(arrays, linear_cost, distances, capacity.size(),
                [&](const auto& graph, const auto& distance) {
                  SwapSearch search(graph, distance, in(capacity), out(pe), SwapOptions{}, control);
                  PairwiseRepartition repartition(graph, search, in(unit_start), options, control);
                  int64_t gained = 0;
                  const int64_t change = repartition.run(in(pairs), seed, gained);
                  control.record_work(repartition.work());
                  out(counted)[0] = search.evaluations();
                  out(counted)[1] = search.swaps();
                  out(counted)[2] = gained;
                  out(counted)[3] = change;
                });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "pairs"_a.noconvert(), "unit_start"_a.noconvert(), "settings"_a.noconvert(), "seed"_a,
      "capacities"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
}
