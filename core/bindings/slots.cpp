// pair_search.hpp, chains.hpp and constructions.hpp: one task per slot. What is compiled from Exchange stands here, what
// is compiled from SwapSearch in slot_groups.cpp, so that neither is compiled twice.
#include "chains.hpp"
#include "constructions.hpp"
#include "pair_search.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

enum PairSearch { all_pairs = 0, blocks = 1, near_pairs = 2 };

}  // namespace

void bind_slots(nb::module_& m) {
  m.def("pair_search",
        [](GraphArrays arrays, DistanceArrays distances, UnaryArrays unary, Steering steering, int kind, int64_t reach,
           InArray<int32_t> order, InArray<int64_t> cap, OutArray<int32_t> pe, OutArray<int64_t> counted) {
          nb::gil_scoped_release release;
          const Control control = control_of(steering);
          PairCounts counts;
          on_both(arrays, unary, distances, cap.size(), [&](const auto& graph, const auto& distance) {
            Exchange exchange(graph, distance, in(cap), out(pe));
            if (kind == all_pairs) search_all_pairs(exchange, control, counts);
            if (kind == blocks) search_blocks(exchange, reach, control, counts);
            if (kind == near_pairs) search_near_pairs(exchange, reach, in(order), control, counts);
          });
          control.spend(counts.arcs);
          out(counted)[0] = counts.evaluations;
          out(counted)[1] = counts.swaps;
        },
        "graph"_a.noconvert(), "distances"_a.noconvert(), "unary"_a.noconvert(), "steering"_a.noconvert(), "kind"_a,
        "reach"_a, "order"_a.noconvert(), "caps"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
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
  m.def("place_greedily",
        [](GraphArrays arrays, DistanceArrays distances, Steering steering, bool linked, InArray<int64_t> room,
           OutArray<int32_t> pe) {
          nb::gil_scoped_release release;
          on_both(arrays, {}, distances, room.size(), [&](const auto& graph, const auto& distance) {
            place_greedily(graph, distance, in(room), linked, control_of(steering), out(pe));
          });
        },
        "graph"_a.noconvert(), "distances"_a.noconvert(), "steering"_a.noconvert(), "linked"_a, "room"_a.noconvert(),
        "pe"_a.noconvert());
}
