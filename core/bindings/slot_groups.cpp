// Binds chains.hpp and resplit.hpp: one task per slot, several tasks at a time.
#include "chains.hpp"
#include "resplit.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_slot_groups(nb::module_& m) {
  m.def("chain_search",
        [](GraphArrays arrays, DistanceArrays distances, UnaryArrays unary, Steering steering, int64_t patience,
           int64_t budget, InArray<int32_t> order, InArray<int64_t> cap, OutArray<int32_t> pe,
           OutArray<int64_t> counted) {
          nb::gil_scoped_release release;
          const Control control = control_of(steering);
          const auto k = static_cast<int64_t>(cap.size());
          PairCounts counts;
          on_both(arrays, unary, distances, cap.size(), [&](const auto& graph, const auto& distance) {
            Exchange exchange(graph, distance, in(cap), out(pe));
            ChainSearch(exchange, out(pe), k, patience, budget, control, counts).run(in(order));
          });
          control.spend(counts.arcs);
          out(counted)[0] = counts.evaluations;
          out(counted)[1] = counts.swaps;
        },
        "graph"_a.noconvert(), "distances"_a.noconvert(), "unary"_a.noconvert(), "steering"_a.noconvert(),
        "patience"_a, "budget"_a, "order"_a.noconvert(), "caps"_a.noconvert(), "pe"_a.noconvert(),
        "counted"_a.noconvert());
  m.def("resplit_pairs",
        [](GraphArrays arrays, DistanceArrays distances, UnaryArrays unary, Steering steering, InArray<int32_t> pairs,
           InArray<int64_t> unit_start, InArray<int64_t> settings, uint64_t seed, InArray<int64_t> cap,
           OutArray<int32_t> pe, OutArray<int64_t> counted) {
          nb::gil_scoped_release release;
          const Control control = control_of(steering);
          const ResplitOptions options{in(settings)[0], in(settings)[1], in(settings)[2]};
          on_both(arrays, unary, distances, cap.size(), [&](const auto& graph, const auto& distance) {
            SwapSearch search(graph, distance, in(cap), out(pe), SwapOptions{}, control);
            Resplit resplit(graph, search, in(unit_start), options, control);
            int64_t gained = 0;
            const int64_t change = resplit.run(in(pairs), seed, gained);
            control.spend(resplit.work());
            out(counted)[0] = search.evaluations();
            out(counted)[1] = search.swaps();
            out(counted)[2] = gained;
            out(counted)[3] = change;
          });
        },
        "graph"_a.noconvert(), "distances"_a.noconvert(), "unary"_a.noconvert(), "steering"_a.noconvert(),
        "pairs"_a.noconvert(), "unit_start"_a.noconvert(), "settings"_a.noconvert(), "seed"_a, "caps"_a.noconvert(),
        "pe"_a.noconvert(), "counted"_a.noconvert());
}
