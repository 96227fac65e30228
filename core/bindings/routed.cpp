// Binds congestion_swap.hpp, congestion_search.hpp and ptram.hpp: groups of tasks on nodes by link loads.
#include <algorithm>

#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "released_lock.hpp"
#include "routing/congestion_search.hpp"
#include "named_settings.hpp"
#include "routing/ptram.hpp"
#include "route_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

// The kinds of searches, in the order of engine/routed_search.py.
enum class Job : int64_t { swap, search, greedy, refine };

struct Problem {
  std::span<const int64_t> size, capacity;
  Neighbourhood neighbourhood;
  NamedSettings settings;
  std::span<const double> weights;
  std::span<const int32_t> classes;
};

std::pair<int64_t, int64_t> run(Job job, RoutedGroups& state, Problem& problem, const Control& control) {
  NamedSettings& settings = problem.settings;
  int64_t evaluations = 0, made = 0;
  switch (job) {
    case Job::swap: {
      const auto rule = settings.take("paper_rule") ? CongestionRule::paper : CongestionRule::lexicographic;
      made = CongestionSwap(state, problem.size, problem.capacity, problem.neighbourhood,
                            static_cast<int32_t>(settings.take("delta")), rule)
                 .run(settings.take("limit"), control, evaluations);
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
      if (settings.take("hybrid")) options.hybrid = hybrid_of(problem.weights);
      made = CongestionSearch(state, problem.size, problem.capacity, problem.neighbourhood, options,
                              static_cast<uint64_t>(settings.take("seed")))
                 .run(control, evaluations);
      break;
    }
    case Job::greedy: {
      evaluations = ptram_greedy(state, problem.size, problem.capacity, problem.classes,
                                 hybrid_of(problem.weights), settings.take("by_share") != 0, control);
      break;
    }
    case Job::refine:
      made = ptram_refine(state, problem.size, problem.capacity, problem.neighbourhood,
                          static_cast<int32_t>(settings.take("nearest")), settings.take("rounds"),
                          static_cast<ReliefRule>(std::clamp<int64_t>(settings.take("paper_rule"), 0, 2)),
                          settings.take("nearby") != 0, control, evaluations);
      break;
  }
  settings.expect_all_read();
  return {made, evaluations};
}

template <class Work>
auto with_placed_routes(int64_t form, const RouteArrays& arrays, In<int32_t> endpoint, int32_t shift,
                        Work work) {
  const std::unique_ptr<AnyRoutes> routes = any_routes(form, arrays);
  return work(PlacedRoutes(*routes, endpoint, shift));
}

}  // namespace

void bind_routed(nb::module_& m) {
  m.def(
      "routed_search",
      [](int64_t job, int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int32_t> endpoint, int64_t links, InArray<int64_t> price,
         int32_t shift, InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume,
         InArray<int64_t> size, InArray<int64_t> capacity, int32_t ports, InArray<int32_t> out_port,
         InArray<int32_t> in_port, InArray<int32_t> near, InArray<uint16_t> hops, InArray<int32_t> site,
         InArray<int64_t> place_start, InArray<int32_t> place_of, const nb::dict& options,
         InArray<double> weights, InArray<int32_t> classes, OutArray<int32_t> control,
         OutArray<int32_t> place) {
        NamedSettings settings(options);
        const ReleasedLock released;
        const Flows flows({in(indptr), in(target), in(volume)}, {ports, in(out_port), in(in_port)});
        Problem problem{in(size),
                        in(capacity),
                        {in(near), in(hops), in(site), in(place_start), in(place_of)},
                        std::move(settings),
                        in(weights),
                        in(classes)};
        return with_placed_routes(
            form, route_arrays(numbers, table, first, head), in(endpoint), shift,
            [&](const PlacedRoutes& routes) {
              RoutedGroups state(flows, routes, links, in(price), problem.neighbourhood.places(), out(place));
              return run(static_cast<Job>(job), state, problem, Control(control.data()));
            });
      },
      "job"_a, "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(),
      "head"_a.noconvert(), "endpoints"_a.noconvert(), "links"_a, "prices"_a.noconvert(), "shift"_a,
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "sizes"_a.noconvert(),
      "capacities"_a.noconvert(), "ports"_a, "out_ports"_a.noconvert(), "in_ports"_a.noconvert(),
      "near"_a.noconvert(), "hops"_a.noconvert(), "site"_a.noconvert(), "place_start"_a.noconvert(),
      "place_of"_a.noconvert(), "options"_a, "weights"_a.noconvert(), "classes"_a.noconvert(),
      "control"_a.noconvert(), "place"_a.noconvert());
  m.def(
      "route_classes",
      [](int64_t form, InArray<int64_t> numbers, InArray<int32_t> table, InArray<int32_t> first,
         InArray<int32_t> head, InArray<int32_t> endpoint, int64_t links, InArray<int64_t> price,
         InArray<int64_t> capacity, OutArray<int32_t> control, OutArray<int32_t> classes) {
        const ReleasedLock released;
        with_placed_routes(form, route_arrays(numbers, table, first, head), in(endpoint), 0,
                           [&](const PlacedRoutes& routes) {
                             const auto found = route_classes(routes, links, in(price), in(capacity),
                                                              Control(control.data()));
                             std::copy(found.begin(), found.end(), classes.data());
                           });
      },
      "form"_a, "numbers"_a.noconvert(), "table"_a.noconvert(), "first"_a.noconvert(), "head"_a.noconvert(),
      "endpoints"_a.noconvert(), "links"_a, "prices"_a.noconvert(), "capacities"_a.noconvert(),
      "control"_a.noconvert(), "classes"_a.noconvert());
}
