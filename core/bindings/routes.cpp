// Binds any_routes.hpp, link_loads.hpp, shortest.hpp, traffic.hpp, fair_flows.hpp, and stored_routes.hpp:
// what the leader processes of PTRAM compute from their own routes.
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "routing/fair_flows.hpp"
#include "routing/shortest.hpp"
#include "routing/stored_routes.hpp"
#include "routing/traffic.hpp"
#include "routing_arguments.hpp"
#include "util/team.hpp"

using namespace hopbytes;

namespace hopbytes {

inline auto fields(FlowArrays& r) {
  return std::tie(r.start, r.link, r.share, r.capacity, r.penalty, r.wait);
}
inline auto fields(StoredRoutes& r) { return std::tie(r.start, r.link, r.part, r.parts); }
inline auto fields(LinkChanges& r) { return std::tie(r.start, r.link, r.amount); }

}  // namespace hopbytes

namespace {

int64_t high(__int128 value) { return static_cast<int64_t>(value >> 32); }
int64_t low(__int128 value) { return static_cast<int64_t>(value & 0xffffffff); }

// used, most, hottest, at_most, sum as (high, low), squares as (high, middle, low): the lower words have 32
// bits.
auto as_tuple(const LoadSummary& s) {
  return std::make_tuple(s.used, s.most, s.hottest, s.at_most, high(s.sum), low(s.sum), high(s.squares >> 32),
                         low(s.squares >> 32), low(s.squares));
}

void expect_prices(In<int64_t> price, size_t links) {
  expect(price.empty() || price.size() == links, "prices of links");
}

void expect_changes(const LinkChanges& changes, In<int64_t> load, In<int64_t> price, size_t results) {
  expect_offsets(changes.start, changes.link.size(), "changes of links");
  expect(changes.amount.size() == changes.link.size() && results + 1 == changes.start.size(),
         "changes of links");
  expect_below(changes.link, std::ssize(load), "links");
  expect_prices(price, load.size());
}

// Throws unless these are links between vertices, of which some are endpoints, with rows of a table.
void expect_links(In<int32_t> tail, In<int32_t> head, In<int32_t> row, int64_t endpoints, int64_t rows) {
  expect(tail.size() == head.size() && endpoints >= 0 && endpoints <= std::ssize(row), "links");
  expect_below(tail, std::ssize(row), "vertices");
  expect_below(head, std::ssize(row), "vertices");
  expect_below(row, rows, "rows", Team::alone(), -1);
}

}  // namespace

void bind_routes(nb::module_& m) {
  define(m, "route_hops",
         [](const RouteArrays& form, In<int32_t> source, In<int32_t> target, Out<int64_t> hops) {
           const auto routes = checked_routes(form, source, target);
           expect(hops.size() == source.size(), "flows");
           for (size_t i = 0; i < source.size(); ++i) hops[i] = routes->hops(source[i], target[i]);
         });
  define(m, "hop_table", [](const RouteArrays& form, In<int32_t> endpoint, Out<uint16_t> hops) {
    expect(hops.size() == endpoint.size() * endpoint.size(), "endpoints");
    return hop_table(*checked_routes(form, endpoint), endpoint, hops);
  });
  define(m, "route_visits",
         [](const RouteArrays& form, In<int32_t> source, In<int32_t> target, Out<int64_t> start) {
           expect(start.size() == source.size() + 1, "flows");
           count_visits(*checked_routes(form, source, target), source, target, start);
         });
  define(m, "route_links",
         [](const RouteArrays& form, In<int32_t> source, In<int32_t> target, In<int64_t> start,
            Out<int64_t> link, Out<int64_t> numerator, Out<int64_t> denominator) {
           expect_offsets(start, link.size(), "routes");
           expect(start.size() == source.size() + 1 && numerator.size() == link.size() &&
                      denominator.size() == link.size(),
                  "routes");
           list_visits(*checked_routes(form, source, target), source, target, start, link, numerator,
                       denominator);
         });
  define(
      m, "link_amounts",
      [](const RouteArrays& form, const Csr& arcs, In<int32_t> endpoint, int32_t shift, Out<int64_t> amount) {
        expect_rows(arcs, std::ssize(endpoint));
        return add_arcs(*checked_routes(form, endpoint), arcs, endpoint, shift, amount);
      });
  define(
      m, "arcs_over_link",
      [](const RouteArrays& form, const Csr& arcs, In<int32_t> endpoint, int64_t link, Out<uint8_t> marked) {
        expect_rows(arcs, std::ssize(endpoint));
        expect(marked.size() == arcs.target.size(), "marks of arcs");
        mark_arcs_over(*checked_routes(form, endpoint), arcs, endpoint, link, marked);
      });
  define(m, "hop_histogram",
         [](const RouteArrays& form, const Csr& arcs, In<int32_t> endpoint, Out<int64_t> flows,
            Out<int64_t> amounts) {
           expect_rows(arcs, std::ssize(endpoint));
           expect(flows.size() == amounts.size(), "counts of hops");
           return hop_histogram(*checked_routes(form, endpoint), arcs, endpoint, flows, amounts);
         });
  define(m, "shortest_table",
         [](In<int32_t> tail, In<int32_t> head, In<int32_t> row, int32_t endpoints, Out<int32_t> table) {
           expect_links(tail, head, row, endpoints, std::ssize(table) / std::max(1, endpoints));
           shortest_table(tail, head, row, endpoints, table);
         });
  define(m, "distance_table",
         [](In<int32_t> tail, In<int32_t> head, In<int32_t> row, int32_t endpoints, Out<int32_t> table) {
           expect_links(tail, head, row, endpoints, INT32_MAX);
           expect(std::ssize(table) == std::ssize(row) * endpoints, "distances");
           distance_table(tail, head, row, endpoints, table);
         });
  define(m, "unit_traffic",
         [](const Csr& arcs, In<int32_t> unit, int32_t threads, Out<int64_t> sent, Out<int64_t> received) {
           const TeamOfCall team(threads);
           expect_placed_rows(arcs, unit, std::ssize(sent), team);
           expect(sent.size() == received.size(), "sums of units");
           const TrafficSums sums = unit_traffic(arcs, unit, team, sent, received);
           return std::tuple(sums.between, sums.within);
         });
  define(m, "summarize_links", [](In<int64_t> amount, In<int64_t> price) {
    expect_prices(price, amount.size());
    return as_tuple(summarize(amount, price));
  });
  // Returns the state of the incremental structure after a sequence of changes; tests compare it with
  // summarize_links.
  define(m, "change_links",
         [](In<int64_t> price, int64_t links, In<int64_t> link, In<int64_t> amount, In<int64_t> ask,
            Out<int64_t> result) {
           expect_below(link, links, "links");
           LinkLoads loads(links, price);
           int64_t* next = result.data();
           for (size_t i = 0; i < link.size(); ++i) {
             loads.add(link[i], amount[i]);
             if (!ask[i]) continue;
             *next++ = loads.max();
             *next++ = loads.argmax();
             *next++ = loads.at_max();
           }
           return as_tuple(loads.summary());
         });
  define(m, "fair_flows",
         [](const FlowArrays& flows, double tolerance, int64_t steps, Out<double> left, Out<double> clock) {
           expect_offsets(flows.start, flows.link.size(), "flows");
           expect_below(flows.link, std::ssize(flows.capacity), "links");
           expect(left.size() + 1 == flows.start.size() && flows.share.size() == flows.link.size() &&
                      flows.penalty.size() == left.size() && flows.wait.size() == left.size() &&
                      clock.size() == 2,
                  "flows");
           return fair_flows(flows, tolerance, steps, left, clock);
         });
  define(m, "sum_over_routes",
         [](const StoredRoutes& routes, int32_t shift, int64_t links, In<int64_t> flow_start, In<int64_t> row,
            In<int64_t> volume, Out<int64_t> start, Out<int64_t> link, Out<int64_t> amount) {
           expect_offsets(flow_start, row.size(), "flows");
           expect_below(row, std::ssize(routes.start) - 1, "routes");
           int64_t steps = 0;
           for (const int64_t r : row) {  // of the routes that are used
             const int64_t first = routes.start[r], length = routes.start[r + 1] - first;
             expect(first >= 0 && length >= 0 && first + length <= std::ssize(routes.link), "routes");
             expect_below(routes.link.subspan(first, length), links, "links");
             steps += length;
           }
           expect(routes.part.size() == routes.parts.size() &&
                      (routes.part.empty() || routes.part.size() == routes.link.size()) &&
                      volume.size() == row.size() && start.size() == flow_start.size() &&
                      std::ssize(link) >= steps && amount.size() == link.size(),
                  "flows");
           return sum_over_routes(routes, shift, links, flow_start, row, volume, start, link, amount);
         });
  define(
      m, "hybrid_after_each",
      [](const LinkChanges& added, In<int64_t> load, In<int64_t> price, In<double> terms, Out<double> value) {
        expect_changes(added, load, price, value.size());
        hybrid_after_each(added, load, price, checked_hybrid(terms), value);
      });
  define(m, "peak_after_each",
         [](const LinkChanges& changes, In<int64_t> load, In<int64_t> price, Out<int64_t> top,
            Out<int64_t> count) {
           expect_changes(changes, load, price, top.size());
           expect(top.size() == count.size(), "changes of links");
           peak_after_each(changes, load, price, top, count);
         });
}
