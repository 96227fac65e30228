// Binds stored_routes.hpp and ptram_order of ptram.hpp: what the leader processes of PTRAM compute from their
// own routes.
#include "arrays.hpp"
#include "released_lock.hpp"
#include "routing/ptram.hpp"
#include "routing/stored_routes.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_leaders(nb::module_& m) {
  m.def(
      "ptram_order",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume, InArray<int64_t> size,
         InArray<int64_t> capacity, OutArray<int32_t> order) {
        const ReleasedLock released;
        const Flows flows({in(indptr), in(target), in(volume)});
        int64_t compared = 0;
        const auto found = ptram_order(flows, PlaceFit(in(size), in(capacity)), compared);
        std::copy(found.begin(), found.end(), order.data());
        return compared;
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "sizes"_a.noconvert(),
      "capacities"_a.noconvert(), "order"_a.noconvert());
  m.def(
      "sum_over_routes",
      [](InArray<int64_t> route_start, InArray<int64_t> route_link, InArray<int64_t> part,
         InArray<int64_t> parts, int32_t shift, int64_t links, InArray<int64_t> flow_start,
         InArray<int64_t> row, InArray<int64_t> volume, OutArray<int64_t> start, OutArray<int64_t> link,
         OutArray<int64_t> amount) {
        const ReleasedLock released;
        return sum_over_routes({in(route_start), in(route_link), in(part), in(parts)}, shift, links,
                               in(flow_start), in(row), in(volume), out(start), out(link), out(amount));
      },
      "route_start"_a.noconvert(), "route_link"_a.noconvert(), "part"_a.noconvert(), "parts"_a.noconvert(),
      "shift"_a, "links"_a, "flow_start"_a.noconvert(), "row"_a.noconvert(), "volume"_a.noconvert(),
      "start"_a.noconvert(), "link"_a.noconvert(), "amount"_a.noconvert());
  m.def(
      "hybrid_after_each",
      [](InArray<int64_t> start, InArray<int64_t> link, InArray<int64_t> amount, InArray<int64_t> load,
         InArray<int64_t> price, InArray<double> terms, OutArray<double> value) {
        const ReleasedLock released;
        hybrid_after_each({in(start), in(link), in(amount)}, in(load), in(price), hybrid_of(in(terms)),
                          out(value));
      },
      "start"_a.noconvert(), "link"_a.noconvert(), "amount"_a.noconvert(), "load"_a.noconvert(),
      "price"_a.noconvert(), "terms"_a.noconvert(), "value"_a.noconvert());
  m.def(
      "peak_after_each",
      [](InArray<int64_t> start, InArray<int64_t> link, InArray<int64_t> amount, InArray<int64_t> load,
         InArray<int64_t> price, OutArray<int64_t> top, OutArray<int64_t> count) {
        const ReleasedLock released;
        peak_after_each({in(start), in(link), in(amount)}, in(load), in(price), out(top), out(count));
      },
      "start"_a.noconvert(), "link"_a.noconvert(), "amount"_a.noconvert(), "load"_a.noconvert(),
      "price"_a.noconvert(), "top"_a.noconvert(), "count"_a.noconvert());
}
