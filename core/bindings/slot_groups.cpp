// Binds swap_refine.hpp and pairwise_repartition.hpp: one task per slot, by SwapSearch.
#include "named_settings.hpp"
#include "assignment/pairwise_repartition.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"
#include "assignment/swap_refine.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

SwapOptions swap_options(const nb::dict& given, int32_t& threads) {
  NamedSettings settings(given);
  SwapOptions options;
  settings.read("all_pairs_up_to", options.all_pairs_up_to);
  settings.read("reach", options.reach);
  settings.read("chains", options.chains);
  settings.read("steps", options.steps);
  settings.read("hot_percent", options.hot_percent);
  settings.read("perturbation_work", options.perturbation_work);
  settings.read("threads", threads);
  if (const int64_t most = settings.take("most_work_per_arc"); most > 0)
    options.work_per_arc = most, options.least_work = int64_t{1} << 26;
  settings.expect_all_read();
  return options;
}

RepartitionOptions repartition_options(const nb::dict& given, int32_t& threads) {
  NamedSettings settings(given);
  RepartitionOptions options;
  settings.read("new_bisections", options.new_bisections);
  settings.read("rounds", options.rounds);
  settings.read("budget", options.budget);
  settings.read("threads", threads);
  settings.expect_all_read();
  return options;
}

}  // namespace

void bind_slot_groups(nb::module_& m) {
  m.def(
      "swap_refine",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int64_t> capacity, uint64_t seed, const nb::dict& given,
         InArray<int32_t> settled, OutArray<int32_t> pe, OutArray<int64_t> counted) {
        int32_t threads = 1;
        const SwapOptions options = swap_options(given, threads);
        const ReleasedLock released;
        expect_placement_of(arrays, out(pe), capacity.size());
        const TeamOfCall team(threads);
        const Control control = control_of(control_arrays).with_team(team);
        SwapCounts counts;
        const int64_t change = on_both(arrays, linear_cost, distances, capacity.size(),
                                       [&](const auto& graph, const auto& distance) {
                                         return swap_refine(graph, distance, in(capacity), seed, options,
                                                            control, in(settled), out(pe), counts);
                                       });
        out(counted)[0] = counts.evaluations;
        out(counted)[1] = counts.swaps;
        out(counted)[2] = counts.settled;
        return change;
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "capacities"_a.noconvert(), "seed"_a, "settings"_a, "settled"_a.noconvert(), "pe"_a.noconvert(),
      "counted"_a.noconvert());
  m.def(
      "repartition_pairs",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int32_t> pairs, InArray<int64_t> unit_start,
         const nb::dict& given, uint64_t seed, InArray<int64_t> capacity, OutArray<int32_t> pe,
         OutArray<int64_t> counted) {
        int32_t threads = 1;
        const RepartitionOptions options = repartition_options(given, threads);
        const ReleasedLock released;
        expect_placement_of(arrays, out(pe), capacity.size());
        const TeamOfCall team(threads);
        const Control control = control_of(control_arrays).with_team(team);
        on_both(arrays, linear_cost, distances, capacity.size(),
                [&](const auto& graph, const auto& distance) {
                  SwapSearch search(graph, distance, in(capacity), out(pe), SwapOptions{}, control);
                  PairwiseRepartition repartition(graph, search, in(unit_start), options, control);
                  int64_t gained = 0;
                  const int64_t change = repartition.run(in(pairs), seed, gained);
                  control.record_work(repartition.scanned_edges());
                  out(counted)[0] = search.evaluations();
                  out(counted)[1] = search.swaps();
                  out(counted)[2] = gained;
                  out(counted)[3] = change;
                });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "pairs"_a.noconvert(), "unit_start"_a.noconvert(), "settings"_a, "seed"_a, "capacities"_a.noconvert(),
      "pe"_a.noconvert(), "counted"_a.noconvert());
}
