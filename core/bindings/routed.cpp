// Binds hop_greedy.hpp, hop_swap.hpp, congestion_swap.hpp, congestion_search.hpp and ptram.hpp: groups of
// tasks on nodes by hops and by link loads.
#include <algorithm>

#include <nanobind/stl/pair.h>

#include "routing/congestion_search.hpp"
#include "routing/hop_greedy.hpp"
#include "routing/hop_swap.hpp"
#include "routing/ptram.hpp"
#include "routing_arguments.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

namespace {

// The kinds of searches, in the order of engine/routed_search.py.
enum class Job : int64_t { swap, search, greedy, refine };

// Returns how many exchanges a search has made and evaluated.
std::pair<int64_t, int64_t> run(Job job, RoutedGroups& state, const GroupArrays& groups,
                                const Neighbourhood& near, NamedSettings& settings, In<double> weights,
                                In<int32_t> classes, const Control& control) {
  int64_t evaluations = 0, made = 0;
  switch (job) {
    case Job::swap: {
      const auto rule = settings.take("paper_rule") ? CongestionRule::paper : CongestionRule::lexicographic;
      CongestionSwap search(state, groups.size, groups.capacity, near,
                            static_cast<int32_t>(settings.take("delta")), rule);
      made = search.run(settings.take("limit"), control, evaluations);
      break;
    }
    case Job::search: {
      CongestionOptions options;
      settings.read("evaluations", options.evaluations);
      settings.read("nearest", options.nearest);
      settings.read("band_percent", options.band_percent);
      settings.read("threshold", options.threshold);
      settings.read("hop_percent", options.hop_percent);
      settings.read("set_percent", options.set_percent);
      if (settings.take("hybrid")) options.hybrid = checked_hybrid(weights);
      CongestionSearch search(state, groups.size, groups.capacity, near, options,
                              static_cast<uint64_t>(settings.take("seed")));
      made = search.run(control, evaluations);
      break;
    }
    case Job::greedy:
      expect(classes.size() == groups.capacity.size(), "classes of places");
      expect_below(classes, near.places(), "classes of places");
      evaluations = ptram_greedy(state, groups.size, groups.capacity, classes, checked_hybrid(weights),
                                 settings.take("by_share") != 0, control);
      break;
    case Job::refine:
      made = ptram_refine(state, groups.size, groups.capacity, near,
                          static_cast<int32_t>(settings.take("nearest")), settings.take("rounds"),
                          static_cast<ReliefRule>(std::clamp<int64_t>(settings.take("paper_rule"), 0, 2)),
                          settings.take("nearby") != 0, control, evaluations);
      break;
  }
  settings.expect_all_read();
  return {made, evaluations};
}

// Throws unless the routing is one between so many places, for the arcs of a graph.
void expect_routing(const RoutingArrays& routing, int64_t places, size_t arcs) {
  const Ports& ports = routing.ports;
  expect(ports.count > 0 && std::ssize(routing.endpoint) == places * ports.count &&
             (routing.price.empty() || std::ssize(routing.price) == routing.links),
         "routes and places");
  if (ports.count == 1) return;
  expect(ports.out.size() == arcs && ports.in.size() == arcs, "ports of arcs");
  expect_below(ports.out, ports.count, "ports");
  expect_below(ports.in, ports.count, "ports");
}

}  // namespace

void bind_routed(nb::module_& m) {
  define(m, "ptram_order", [](const Csr& arcs, In<int64_t> size, In<int64_t> capacity, Out<int32_t> order) {
    expect_graph(arcs);
    expect(std::ssize(size) == arcs.n() && order.size() == size.size() && (size.empty() || !capacity.empty()),
           "groups and places");
    int64_t compared = 0;
    const auto found = ptram_order(Flows(arcs), PlaceFit(size, capacity), compared);
    std::copy(found.begin(), found.end(), order.begin());
    return compared;
  });
  define(m, "hop_greedy",
         [](const GroupArrays& groups, const Neighbourhood& near, const DistanceArrays& distances,
            int32_t seeds, Out<int32_t> place) {
           expect_groups(groups, near, place, -1);
           const AnyDistance distance = any_distance(distances, near.site.size());
           return HopGreedy(groups.csr, groups.size, groups.capacity, near, distance).run(seeds, place);
         });
  define(m, "hop_swap",
         [](const GroupArrays& groups, const Neighbourhood& near, const DistanceArrays& distances,
            int32_t delta, Control control, Out<int32_t> place) {
           expect_groups(groups, near, place, 0);
           const AnyDistance distance = any_distance(distances, near.site.size());
           int64_t evaluations = 0;
           const int64_t change = HopSwap(groups.csr, groups.size, groups.capacity, near, distance, place)
                                      .run(delta, control, evaluations);
           return std::pair(change, evaluations);
         });
  define(m, "routed_search",
         [](int64_t job, const GroupArrays& groups, const RoutingArrays& routing, const Neighbourhood& near,
            NamedSettings settings, In<double> weights, In<int32_t> classes, Control control,
            Out<int32_t> place) {
           expect_groups(groups, near, place, static_cast<Job>(job) == Job::greedy ? -1 : 0);
           expect_routing(routing, near.places(), groups.csr.target.size());
           const Flows flows(groups.csr, routing.ports);
           const auto form = checked_routes(routing.routes, routing.endpoint);
           const PlacedRoutes routes(*form, routing.endpoint, routing.shift);
           RoutedGroups state(flows, routes, routing.links, routing.price, near.places(), place);
           return run(static_cast<Job>(job), state, groups, near, settings, weights, classes, control);
         });
  define(m, "route_classes",
         [](const RoutingArrays& routing, In<int64_t> capacity, Control control, Out<int32_t> classes) {
           expect_routing(routing, std::ssize(routing.endpoint) / std::max(1, routing.ports.count), 0);
           expect(classes.size() == capacity.size() && capacity.size() <= routing.endpoint.size(), "places");
           const auto form = checked_routes(routing.routes, routing.endpoint);
           const PlacedRoutes routes(*form, routing.endpoint, 0);
           const auto found = route_classes(routes, routing.links, routing.price, capacity, control);
           std::copy(found.begin(), found.end(), classes.begin());
         });
}
