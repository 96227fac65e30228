// What Python passes to kernels of routes and to searches of groups on nodes (kernels/routes.py,
// engine/routed_search.py).
#pragma once
#include "arrays.hpp"
#include "checked.hpp"
#include "routing/any_routes.hpp"
#include "routing/hybrid.hpp"
#include "routing/place_search.hpp"

namespace hopbytes {

inline auto fields(RouteArrays& r) { return std::tie(r.form, r.numbers, r.table, r.first, r.head); }
inline auto fields(Neighbourhood& r) { return std::tie(r.near, r.hops, r.site, r.place_start, r.place); }

// The graph between groups, their sizes, and the capacities of places.
struct GroupArrays {
  Csr csr;
  In<int64_t> size, capacity;
};
inline auto fields(GroupArrays& r) { return std::tie(r.csr, r.size, r.capacity); }

// Routes between the ports of places.
struct RoutingArrays {
  RouteArrays routes;
  In<int32_t> endpoint;
  int64_t links = 0;
  In<int64_t> price;
  int32_t shift = 0;
  Ports ports;
};
inline auto fields(RoutingArrays& r) {
  return std::tie(r.routes.form, r.routes.numbers, r.routes.table, r.routes.first, r.routes.head, r.endpoint,
                  r.links, r.price, r.shift, r.ports.count, r.ports.out, r.ports.in);
}

// Returns routes of which all these are endpoints, or sources of flows.
inline std::unique_ptr<AnyRoutes> checked_routes(const RouteArrays& arrays, In<int32_t> endpoint) {
  auto routes = any_routes(arrays);
  expect_below(endpoint, routes->endpoints(), "endpoints");
  return routes;
}
inline std::unique_ptr<AnyRoutes> checked_routes(const RouteArrays& arrays, In<int32_t> source,
                                                 In<int32_t> target) {
  expect(source.size() == target.size(), "flows");
  auto routes = checked_routes(arrays, target);
  expect_below(source, routes->sources(), "sources");
  return routes;
}

inline Hybrid checked_hybrid(In<double> terms) {
  expect(terms.size() == 6, "terms of the hybrid metric");
  return hybrid_of(terms);
}

// Throws unless groups, places and sites belong together, and `place` has a place of every group, or -1 where
// `lowest` is that.
inline void expect_groups(const GroupArrays& groups, const Neighbourhood& near, In<int32_t> place,
                          int32_t lowest) {
  expect_graph(groups.csr);
  const int64_t places = near.places(), sites = near.sites();
  expect(std::ssize(groups.size) == groups.csr.n() && std::ssize(groups.capacity) == places &&
             groups.size.size() <= groups.capacity.size(),
         "groups and places");
  expect_offsets(near.place_start, near.place.size(), "places of sites");
  expect(near.near.size() == near.hops.size() && (sites == 0 || std::ssize(near.near) % sites == 0),
         "sites around sites");
  expect_below(near.near, sites, "sites");
  expect_below(near.site, sites, "sites");
  expect_below(near.place, places, "places");
  expect_placement(place, groups.csr.n(), places, Team::alone(), lowest);
}

}  // namespace hopbytes
