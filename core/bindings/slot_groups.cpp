// chains.hpp and resplit.hpp: one task per slot, several tasks at a time
#include "chains.hpp"
#include "graph_view.hpp"
#include "resplit.hpp"
#include "unary_view.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_slot_groups(nb::module_& m) {
  m.def("chain_search",
        [](int64_t patience, int64_t budget, InArray<int32_t> order, InArray<int64_t> indptr, InArray<int32_t> target,
           InArray<int64_t> weights, InArray<int64_t> loads, InArray<uint64_t> label, InArray<int64_t> bit_cost,
           InArray<int64_t> table, InArray<int64_t> cap, OutArray<int32_t> control, OutArray<int64_t> spent,
           InArray<int64_t> u_start, InArray<int32_t> u_block, InArray<int64_t> u_cost,
           InArray<int64_t> u_rest, OutArray<int32_t> pe, OutArray<int64_t> counted) {
          nb::gil_scoped_release release;
          PairCounts counts;
          with_weights(in(indptr), in(target), in(weights), in(loads),
                       read_unary(in(u_start), in(u_block), in(u_cost), in(u_rest)), [&](const auto& graph) {
            with_distance(in(label), in(bit_cost), in(table), cap.size(), [&](const auto& distance) {
              const Control flag(control.data(), spent.data());
              Exchange exchange(graph, distance, in(cap), out(pe));
              const auto k = static_cast<int64_t>(cap.size());
              ChainSearch(exchange, out(pe), k, patience, budget, flag, counts).run(in(order));
              flag.spend(counts.arcs);
            });
          });
          out(counted)[0] = counts.evaluations;
          out(counted)[1] = counts.swaps;
        },
        "patience"_a, "budget"_a, "order"_a.noconvert(), "indptr"_a.noconvert(), "targets"_a.noconvert(),
        "weights"_a.noconvert(), "loads"_a.noconvert(), "labels"_a.noconvert(), "bit_costs"_a.noconvert(),
        "table"_a.noconvert(), "caps"_a.noconvert(), "control"_a.noconvert(), "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
  m.def("resplit_pairs",
        [](InArray<int32_t> pairs, InArray<int64_t> unit_start, InArray<int64_t> settings, uint64_t seed,
           InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weights, InArray<uint64_t> label,
           InArray<int64_t> bit_cost, InArray<int64_t> table, InArray<int64_t> cap, OutArray<int32_t> control,
           OutArray<int64_t> spent, InArray<int64_t> u_start, InArray<int32_t> u_block, InArray<int64_t> u_cost,
           InArray<int64_t> u_rest, OutArray<int32_t> pe, OutArray<int64_t> counted) {
          nb::gil_scoped_release release;
          const ResplitOptions options{in(settings)[0], in(settings)[1], in(settings)[2]};
          int64_t change = 0, gained = 0;
          with_weights(in(indptr), in(target), in(weights), {},
                       read_unary(in(u_start), in(u_block), in(u_cost), in(u_rest)), [&](const auto& graph) {
            with_distance(in(label), in(bit_cost), in(table), cap.size(), [&](const auto& distance) {
              const Control flag(control.data(), spent.data());
              SwapSearch search(graph, distance, in(cap), out(pe), SwapOptions{}, flag);
              Resplit resplit(graph, search, in(unit_start), options, flag);
              change = resplit.run(in(pairs), seed, gained);
              flag.spend(resplit.work());
              out(counted)[0] = search.evaluations();
              out(counted)[1] = search.swaps();
            });
          });
          out(counted)[2] = gained;
          out(counted)[3] = change;
        },
        "pairs"_a.noconvert(), "unit_start"_a.noconvert(), "settings"_a.noconvert(), "seed"_a, "indptr"_a.noconvert(),
        "targets"_a.noconvert(), "weights"_a.noconvert(), "labels"_a.noconvert(), "bit_costs"_a.noconvert(),
        "table"_a.noconvert(), "caps"_a.noconvert(), "control"_a.noconvert(), "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
}
