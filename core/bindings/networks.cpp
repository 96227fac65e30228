// Binds routing/ and simulation/: what links carry, groups on the nodes of networks, replays of messages.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "routing/congestion_search.hpp"
#include "routing/hops.hpp"
#include "routing/ptram.hpp"
#include "routing/shortest.hpp"
#include "routing/stored_routes.hpp"
#include "search_arguments.hpp"
#include "simulation/waiting.hpp"

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
inline auto fields(FlowArrays& r) {
  return std::tie(r.start, r.link, r.share, r.capacity, r.penalty, r.wait);
}
inline auto fields(StoredRoutes& r) { return std::tie(r.start, r.link, r.part, r.parts); }
inline auto fields(LinkChanges& r) { return std::tie(r.start, r.link, r.amount); }

}  // namespace hopbytes

template <> struct nanobind::detail::type_caster<hopbytes::AnyRoutes> {
  static constexpr auto Name = const_name("routes");
  template <class T> using Cast = const hopbytes::AnyRoutes&;
  template <class T> static constexpr bool can_cast() { return true; }
  bool from_python(handle given, uint32_t flags, cleanup_list* cleanup) noexcept {
    return arrays_.from_python(given, flags, cleanup);
  }
  operator const hopbytes::AnyRoutes&() { return *(routes_ = hopbytes::any_routes(arrays_.value)); }

 private:
  make_caster<hopbytes::RouteArrays> arrays_;
  std::unique_ptr<hopbytes::AnyRoutes> routes_;
};

using namespace hopbytes;

namespace {

// Throws unless groups, places and sites fit, and `place` has a place, or -1 if `lowest` is that, per group.
void expect_groups(const GroupArrays& groups, const Neighbourhood& near, In<int32_t> place, int32_t lowest) {
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

// The kinds of searches, in the order of engine/routed_search.py.
enum class Job : int64_t { swap, search, greedy, refine };

// Returns how many exchanges a search has made and evaluated.
std::pair<int64_t, int64_t> run(Job job, RoutedGroups& state, const GroupArrays& groups,
                                const Neighbourhood& near, NamedSettings& settings, In<double> weights,
                                In<int32_t> classes, const Control& control) {
  const PlaceFit fit(groups.size, groups.capacity);
  int64_t evaluations = 0, made = 0;
  switch (job) {
    case Job::swap: {
      const auto rule = settings.take("paper_rule") ? CongestionRule::paper : CongestionRule::lexicographic;
      CongestionSwap search(state, fit, near, static_cast<int32_t>(settings.take("delta")), rule);
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
      if (settings.take("hybrid")) options.hybrid = hybrid_of(weights);
      CongestionSearch search(state, fit, near, options, static_cast<uint64_t>(settings.take("seed")));
      made = search.run(control, evaluations);
      break;
    }
    case Job::greedy:
      expect(classes.size() == groups.capacity.size(), "classes of places");
      expect_below(classes, near.places(), "classes of places");
      evaluations =
          ptram_greedy(state, fit, classes, hybrid_of(weights), settings.take("by_share") != 0, control);
      break;
    case Job::refine:
      made = ptram_refine(state, fit, near, static_cast<int32_t>(settings.take("nearest")),
                          settings.take("rounds"),
                          static_cast<ReliefRule>(std::clamp<int64_t>(settings.take("paper_rule"), 0, 2)),
                          settings.take("nearby") != 0, control, evaluations);
      break;
  }
  settings.expect_all_read();
  return {made, evaluations};
}

// Returns routes between so many places, for the arcs of a graph.
std::unique_ptr<AnyRoutes> checked_routes(const RoutingArrays& routing, int64_t places, size_t arcs) {
  auto routes = any_routes(routing.routes);
  const Ports& ports = routing.ports;
  expect(ports.count > 0 && std::ssize(routing.endpoint) == places * ports.count &&
             (routing.price.empty() || std::ssize(routing.price) == routing.links),
         "routes and places");
  expect_below(routing.endpoint, routes->endpoints(), "endpoints");
  if (ports.count == 1) return routes;
  expect(ports.out.size() == arcs && ports.in.size() == arcs, "ports of arcs");
  expect_below(ports.out, ports.count, "ports");
  expect_below(ports.in, ports.count, "ports");
  return routes;
}

int64_t high(__int128 value) { return static_cast<int64_t>(value >> 32); }
int64_t low(__int128 value) { return static_cast<int64_t>(value & 0xffffffff); }

// used, most, hottest, at_most, sum as (high, low), squares as (high, middle, low), lower words of 32 bits.
auto as_tuple(const LoadSummary& s) {
  const Wide sum = s.sums.sum, squares = s.sums.squares;
  return std::make_tuple(s.sums.used, s.most, s.hottest, s.at_most, high(sum), low(sum), high(squares >> 32),
                         low(squares >> 32), low(squares));
}

void check(const WaitingArrays& a, const WaitingTimes& times) {
  const size_t messages = a.bytes.size(), paths = a.latency.size();
  expect_offsets(a.first, a.kind.size(), "steps of ranks");
  expect_offsets(a.start, a.link.size(), "links of paths");
  expect(a.message.size() == a.kind.size() && times.passed.size() == a.kind.size(), "steps of ranks");
  expect(a.protocol.size() == messages && a.queue.size() == messages && a.path.size() == messages &&
             times.begun.size() == messages && times.arrived.size() == messages,
         "arrays of messages");
  expect(a.start.size() == paths + 1 && a.rate.size() == paths && a.share.size() == a.link.size(),
         "arrays of paths");
  expect_below(a.message, std::ssize(a.bytes), "messages");
  expect_below(a.queue, std::ssize(a.bytes), "queues");
  expect_below(a.path, std::ssize(a.latency), "paths");
  expect_below(a.link, std::ssize(a.capacity), "links");
}

}  // namespace

void bind_networks(nb::module_& m) {
  define(m, "route_hops", route_hops);
  define(m, "hop_table", hop_table);
  define(m, "route_visits", count_visits);
  define(m, "route_links", list_visits);
  define(m, "link_amounts", add_arcs);
  define(m, "arcs_over_link", mark_arcs_over);
  define(m, "hop_histogram", hop_histogram);
  define(m, "shortest_table", shortest_table);
  define(m, "distance_table", distance_table);
  define(m, "fair_flows", fair_flows);
  define(m, "sum_over_routes", sum_over_routes);
  define(m, "hybrid_after_each", hybrid_after_each);
  define(m, "peak_after_each", peak_after_each);
  define(m, "summarize_links", [](In<int64_t> amount, In<int64_t> price) {
    expect(price.empty() || price.size() == amount.size(), "prices of links");
    return as_tuple(summarize(amount, price));
  });
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
           const PlaceFit fit(groups.size, groups.capacity);
           const AnyDistance distance = any_distance(distances, near.site.size());
           return HopGreedy(groups.csr, fit, near, distance, place).run(seeds);
         });
  define(m, "hop_swap",
         [](const GroupArrays& groups, const Neighbourhood& near, const DistanceArrays& distances,
            int32_t delta, Control control, Out<int32_t> place) {
           expect_groups(groups, near, place, 0);
           const AnyDistance distance = any_distance(distances, near.site.size());
           const PlaceFit fit(groups.size, groups.capacity);
           int64_t evaluations = 0;
           const int64_t change =
               HopSwap(groups.csr, fit, near, distance, place).run(delta, control, evaluations);
           return std::pair(change, evaluations);
         });
  define(m, "routed_search",
         [](int64_t job, const GroupArrays& groups, const RoutingArrays& routing, const Neighbourhood& near,
            NamedSettings settings, In<double> weights, In<int32_t> classes, Control control,
            Out<int32_t> place) {
           expect_groups(groups, near, place, static_cast<Job>(job) == Job::greedy ? -1 : 0);
           const auto form = checked_routes(routing, near.places(), groups.csr.target.size());
           const Flows flows(groups.csr, routing.ports);
           const PlacedRoutes routes(*form, routing.endpoint, routing.shift);
           RoutedGroups state(flows, routes, routing.links, routing.price, near.places(), place);
           return run(static_cast<Job>(job), state, groups, near, settings, weights, classes, control);
         });
  define(m, "route_classes",
         [](const RoutingArrays& routing, In<int64_t> capacity, Control control, Out<int32_t> classes) {
           const int64_t places = std::ssize(routing.endpoint) / std::max(1, routing.ports.count);
           const auto form = checked_routes(routing, places, 0);
           expect(classes.size() == capacity.size() && capacity.size() <= routing.endpoint.size(), "places");
           const PlacedRoutes routes(*form, routing.endpoint, 0);
           const auto found = route_classes(routes, routing.links, routing.price, capacity, control);
           std::copy(found.begin(), found.end(), classes.begin());
         });
  define(m, "replay_waiting",
         [](In<int64_t> first, In<uint8_t> kind, In<int32_t> message, In<uint8_t> protocol, In<int32_t> queue,
            In<int32_t> path, In<double> bytes, In<int64_t> start, In<int64_t> link, In<double> share,
            In<double> latency, In<double> rate, In<double> capacity, double tolerance, Out<int32_t> flag,
            Out<double> passed, Out<double> begun, Out<double> arrived) {
           const WaitingArrays arrays{first, kind, message, protocol, queue, path,    bytes,
                                      start, link, share,   latency,  rate,  capacity};
           const WaitingTimes times{passed, begun, arrived};
           check(arrays, times);
           expect(!flag.empty(), "a control flag and its array");
           return WaitingReplay(arrays, tolerance, times).run(Control(flag.data()));
         });
}
