// pair_search.hpp, swap.hpp and constructions.hpp: one task per slot
#include "constructions.hpp"
#include "graph_view.hpp"
#include "pair_search.hpp"
#include "swap_refine.hpp"
#include "unary_view.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

enum PairSearch { all_pairs = 0, blocks = 1, near_pairs = 2 };

}  // namespace

void bind_slots(nb::module_& m) {
  m.def("pair_search",
        [](int kind, int64_t reach, InArray<int32_t> order, InArray<int64_t> indptr, InArray<int32_t> target,
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
              if (kind == all_pairs) search_all_pairs(exchange, flag, counts);
              if (kind == blocks) search_blocks(exchange, reach, flag, counts);
              if (kind == near_pairs) search_near_pairs(exchange, reach, in(order), flag, counts);
              flag.spend(counts.arcs);
            });
          });
          out(counted)[0] = counts.evaluations;
          out(counted)[1] = counts.swaps;
        },
        "kind"_a, "reach"_a, "order"_a.noconvert(), "indptr"_a.noconvert(), "targets"_a.noconvert(),
        "weights"_a.noconvert(), "loads"_a.noconvert(), "labels"_a.noconvert(), "bit_costs"_a.noconvert(),
        "table"_a.noconvert(), "caps"_a.noconvert(), "control"_a.noconvert(), "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
  m.def("swap_refine",
        [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weights, InArray<int64_t> loads,
           InArray<uint64_t> label, InArray<int64_t> bit_cost, InArray<int64_t> table, InArray<int64_t> cap,
           uint64_t seed, InArray<int64_t> settings, OutArray<int32_t> control, OutArray<int64_t> spent,
           InArray<int64_t> u_start, InArray<int32_t> u_block, InArray<int64_t> u_cost,
           InArray<int64_t> u_rest, OutArray<int32_t> pe, OutArray<int64_t> counted) {
          SwapOptions options;
          options.all_pairs_up_to = in(settings)[0];
          options.reach = in(settings)[1];
          options.chains = in(settings)[2];
          options.steps = in(settings)[3];
          options.shakes = in(settings)[4];
          options.threads = static_cast<int32_t>(in(settings)[5]);
          SwapCounts counts;
          int64_t change = 0;
          {
            nb::gil_scoped_release release;
            with_weights(in(indptr), in(target), in(weights), in(loads),
                       read_unary(in(u_start), in(u_block), in(u_cost), in(u_rest)), [&](const auto& graph) {
              const Control flag(control.data(), spent.data());
              change = with_distance(in(label), in(bit_cost), in(table), cap.size(), [&](const auto& distance) {
                return swap_refine(graph, distance, in(cap), seed, options, flag, out(pe), counts);
              });
            });
          }
          out(counted)[0] = counts.evaluations;
          out(counted)[1] = counts.swaps;
          return change;
        },
        "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "loads"_a.noconvert(),
        "labels"_a.noconvert(), "bit_costs"_a.noconvert(), "table"_a.noconvert(), "caps"_a.noconvert(), "seed"_a,
        "settings"_a.noconvert(), "control"_a.noconvert(), "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
  m.def("place_greedily",
        [](bool linked, InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weights,
           InArray<uint64_t> label, InArray<int64_t> bit_cost, InArray<int64_t> table, InArray<int64_t> room,
           OutArray<int32_t> control, OutArray<int32_t> pe) {
          nb::gil_scoped_release release;
          with_weights(in(indptr), in(target), in(weights), {}, [&](const auto& graph) {
            with_distance(in(label), in(bit_cost), in(table), room.size(), [&](const auto& distance) {
              place_greedily(graph, distance, in(room), linked, Control(control.data()), out(pe));
            });
          });
        },
        "linked"_a, "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "labels"_a.noconvert(),
        "bit_costs"_a.noconvert(), "table"_a.noconvert(), "room"_a.noconvert(), "control"_a.noconvert(),
        "pe"_a.noconvert());
}
