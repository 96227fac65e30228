// swap_refine.hpp and resplit.hpp: one task per slot, with SwapSearch
#include "csr.hpp"
#include "resplit.hpp"
#include "search_arguments.hpp"
#include "swap_refine.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_slot_groups(nb::module_& m) {
  m.def("swap_refine",
        [](GraphArrays arrays, DistanceArrays distances, UnaryArrays unary, Steering steering, InArray<int64_t> cap,
           uint64_t seed, InArray<int64_t> settings, OutArray<int32_t> pe, OutArray<int64_t> counted) {
          nb::gil_scoped_release release;
          SwapOptions options;
          options.all_pairs_up_to = in(settings)[0];
          options.reach = in(settings)[1];
          options.chains = in(settings)[2];
          options.steps = in(settings)[3];
          options.shakes = in(settings)[4];
          options.threads = static_cast<int32_t>(in(settings)[5]);
          SwapCounts counts;
          const int64_t change =
              on_both(arrays, unary, distances, cap.size(), [&](const auto& graph, const auto& distance) {
                return swap_refine(graph, distance, in(cap), seed, options, control_of(steering), out(pe), counts);
              });
          out(counted)[0] = counts.evaluations;
          out(counted)[1] = counts.swaps;
          return change;
        },
        "graph"_a.noconvert(), "distances"_a.noconvert(), "unary"_a.noconvert(), "steering"_a.noconvert(),
        "caps"_a.noconvert(), "seed"_a, "settings"_a.noconvert(), "pe"_a.noconvert(), "counted"_a.noconvert());
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
