// Binds hop_greedy.hpp and hop_swap.hpp: groups of tasks on nodes by hops.
#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "graph_view.hpp"
#include "released_lock.hpp"
#include "routing/hop_greedy.hpp"
#include "routing/hop_swap.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_places(nb::module_& m) {
  m.def(
      "hop_greedy",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int64_t> size,
         InArray<int64_t> capacity, InArray<int32_t> near, InArray<uint16_t> hops, InArray<int32_t> site,
         InArray<int64_t> place_start, InArray<int32_t> place_of, InArray<uint64_t> label,
         InArray<int64_t> bit_cost, InArray<int64_t> table, int32_t seeds, OutArray<int32_t> place) {
        const ReleasedLock released;
        const Neighbourhood neighbourhood{in(near), in(hops), in(site), in(place_start), in(place_of)};
        return HopGreedy({in(indptr), in(target), in(weight)}, in(size), in(capacity), neighbourhood,
                         any_distance(in(label), in(bit_cost), in(table), neighbourhood.places()))
            .run(seeds, out(place));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "sizes"_a.noconvert(),
      "capacities"_a.noconvert(), "near"_a.noconvert(), "hops"_a.noconvert(), "site"_a.noconvert(),
      "place_start"_a.noconvert(), "place_of"_a.noconvert(), "labels"_a.noconvert(),
      "bit_costs"_a.noconvert(), "table"_a.noconvert(), "seeds"_a, "place"_a.noconvert());
  m.def(
      "hop_swap",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int64_t> size,
         InArray<int64_t> capacity, InArray<int32_t> near, InArray<uint16_t> hops, InArray<int32_t> site,
         InArray<int64_t> place_start, InArray<int32_t> place_of, InArray<uint64_t> label,
         InArray<int64_t> bit_cost, InArray<int64_t> table, int32_t delta, OutArray<int32_t> control,
         OutArray<int32_t> place) {
        const ReleasedLock released;
        const Neighbourhood neighbourhood{in(near), in(hops), in(site), in(place_start), in(place_of)};
        int64_t evaluations = 0;
        const int64_t change =
            HopSwap({in(indptr), in(target), in(weight)}, in(size), in(capacity), neighbourhood,
                    any_distance(in(label), in(bit_cost), in(table), neighbourhood.places()), out(place))
                .run(delta, Control(control.data()), evaluations);
        return std::pair<int64_t, int64_t>(change, evaluations);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "sizes"_a.noconvert(),
      "capacities"_a.noconvert(), "near"_a.noconvert(), "hops"_a.noconvert(), "site"_a.noconvert(),
      "place_start"_a.noconvert(), "place_of"_a.noconvert(), "labels"_a.noconvert(),
      "bit_costs"_a.noconvert(), "table"_a.noconvert(), "delta"_a, "control"_a.noconvert(),
      "place"_a.noconvert());
}
