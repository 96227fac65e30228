// Binds any_routes.hpp, link_loads.hpp, shortest.hpp and traffic.hpp.
#include "arrays.hpp"
#include <nanobind/stl/tuple.h>
#include "released_lock.hpp"
#include "routing/any_routes.hpp"
#include "routing/link_loads.hpp"
#include "route_arguments.hpp"
#include "routing/shortest.hpp"
#include "routing/traffic.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

int64_t high(__int128 value) { return static_cast<int64_t>(value >> 32); }
int64_t low(__int128 value) { return static_cast<int64_t>(value & 0xffffffff); }

// used, most, hottest, at_most, sum as (high, low), squares as (high, middle, low): the lower words have 32
// bits.
auto as_tuple(const LoadSummary& s) {
  return std::make_tuple(s.used, s.most, s.hottest, s.at_most, high(s.sum), low(s.sum), high(s.squares >> 32),
                         low(s.squares >> 32), low(s.squares));
}

}  // namespace

void bind_routes(nb::module_& m) {
  m.def(
      "route_hops",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int32_t> source, InArray<int32_t> target, OutArray<int64_t> hops) {
        const ReleasedLock released;
        const auto routes = any_routes(form, route_arrays(numbers, table, first, head));
        for (size_t i = 0; i < source.size(); ++i)
          hops.data()[i] = routes->hops(source.data()[i], target.data()[i]);
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "sources"_a.noconvert(), "targets"_a.noconvert(), "hops"_a.noconvert());
  m.def(
      "hop_table",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int32_t> endpoint, OutArray<uint16_t> hops) {
        const ReleasedLock released;
        return hop_table(*any_routes(form, route_arrays(numbers, table, first, head)), in(endpoint),
                         out(hops));
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "endpoints"_a.noconvert(), "hops"_a.noconvert());
  m.def(
      "route_visits",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int32_t> source, InArray<int32_t> target, OutArray<int64_t> start) {
        const ReleasedLock released;
        count_visits(*any_routes(form, route_arrays(numbers, table, first, head)), in(source), in(target),
                     out(start));
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "sources"_a.noconvert(), "targets"_a.noconvert(), "start"_a.noconvert());
  m.def(
      "route_links",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int32_t> source, InArray<int32_t> target, InArray<int64_t> start,
         OutArray<int64_t> link, OutArray<int64_t> numerator, OutArray<int64_t> denominator) {
        const ReleasedLock released;
        list_visits(*any_routes(form, route_arrays(numbers, table, first, head)), in(source), in(target),
                    in(start), out(link), out(numerator), out(denominator));
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "sources"_a.noconvert(), "targets"_a.noconvert(), "start"_a.noconvert(), "links"_a.noconvert(),
      "numerators"_a.noconvert(), "denominators"_a.noconvert());
  m.def(
      "link_amounts",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int64_t> indptr, InArray<int32_t> arc_target, InArray<int64_t> weight,
         InArray<int32_t> endpoint, int32_t shift, OutArray<int64_t> amount) {
        const ReleasedLock released;
        return add_arcs(*any_routes(form, route_arrays(numbers, table, first, head)),
                        {in(indptr), in(arc_target), in(weight)}, in(endpoint), shift, out(amount));
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "indptr"_a.noconvert(), "arc_targets"_a.noconvert(), "weights"_a.noconvert(), "endpoints"_a.noconvert(),
      "shift"_a, "amounts"_a.noconvert());
  m.def(
      "arcs_over_link",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int64_t> indptr, InArray<int32_t> arc_target,
         InArray<int32_t> endpoint, int64_t link, OutArray<uint8_t> marked) {
        const ReleasedLock released;
        mark_arcs_over(*any_routes(form, route_arrays(numbers, table, first, head)),
                       {in(indptr), in(arc_target), {}}, in(endpoint), link, out(marked));
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "indptr"_a.noconvert(), "arc_targets"_a.noconvert(), "endpoints"_a.noconvert(), "link"_a,
      "marked"_a.noconvert());
  m.def(
      "hop_histogram",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int64_t> indptr, InArray<int32_t> arc_target, InArray<int64_t> weight,
         InArray<int32_t> endpoint, OutArray<int64_t> flows, OutArray<int64_t> amounts) {
        const ReleasedLock released;
        return hop_histogram(*any_routes(form, route_arrays(numbers, table, first, head)),
                             {in(indptr), in(arc_target), in(weight)}, in(endpoint), out(flows),
                             out(amounts));
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "indptr"_a.noconvert(), "arc_targets"_a.noconvert(), "weights"_a.noconvert(), "endpoints"_a.noconvert(),
      "flows"_a.noconvert(), "amounts"_a.noconvert());
  m.def(
      "shortest_table",
      [](InArray<int32_t> tail, InArray<int32_t> head, InArray<int32_t> row, int64_t endpoints,
         OutArray<int32_t> table) {
        const ReleasedLock released;
        shortest_table(in(tail), in(head), in(row), endpoints, out(table));
      },
      "tails"_a.noconvert(), "heads"_a.noconvert(), "rows"_a.noconvert(), "n_endpoints"_a,
      "table"_a.noconvert());
  m.def(
      "distance_table",
      [](InArray<int32_t> tail, InArray<int32_t> head, InArray<int32_t> row, int64_t endpoints,
         OutArray<int32_t> table) {
        const ReleasedLock released;
        distance_table(in(tail), in(head), in(row), endpoints, out(table));
      },
      "tails"_a.noconvert(), "heads"_a.noconvert(), "rows"_a.noconvert(), "n_endpoints"_a,
      "table"_a.noconvert());
  m.def(
      "unit_traffic",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int32_t> unit,
         int32_t threads, OutArray<int64_t> sent, OutArray<int64_t> received) {
        TrafficSums sums;
        {
          const ReleasedLock released;
          const TeamOfCall team(threads);
          sums = unit_traffic({in(indptr), in(target), in(weight)}, in(unit), team, out(sent), out(received));
        }
        return std::make_tuple(sums.between, sums.within);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "units"_a.noconvert(),
      "threads"_a, "sent"_a.noconvert(), "received"_a.noconvert());
  m.def(
      "summarize_links",
      [](InArray<int64_t> amount, InArray<int64_t> price) {
        return as_tuple(summarize(in(amount), in(price)));
      },
      "amounts"_a.noconvert(), "prices"_a.noconvert());
  // Returns the state of the incremental structure after a sequence of changes; tests compare it with
  // summarize_links.
  m.def(
      "change_links",
      [](InArray<int64_t> price, int64_t links, InArray<int64_t> link, InArray<int64_t> amount,
         InArray<int64_t> ask, OutArray<int64_t> result) {
        LinkLoads loads(links, in(price));
        int64_t* next = result.data();
        for (size_t i = 0; i < link.size(); ++i) {
          loads.add(link.data()[i], amount.data()[i]);
          if (!ask.data()[i]) continue;
          *next++ = loads.max();
          *next++ = loads.argmax();
          *next++ = loads.at_max();
        }
        return as_tuple(loads.summary());
      },
      "prices"_a.noconvert(), "n_links"_a, "links"_a.noconvert(), "amounts"_a.noconvert(),
      "ask"_a.noconvert(), "result"_a.noconvert());
}
