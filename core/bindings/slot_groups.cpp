// Binds swap_refine.hpp and pairwise_repartition.hpp: one task per slot, by SwapSearch.
#include "assignment/pairwise_repartition.hpp"
#include "assignment/swap_refine.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

namespace {

SwapOptions swap_options(NamedSettings& settings) {
  SwapOptions options;
  settings.read("all_pairs_up_to", options.all_pairs_up_to);
  settings.read("reach", options.reach);
  settings.read("chains", options.chains);
  settings.read("steps", options.steps);
  settings.read("hot_percent", options.hot_percent);
  settings.read("perturbation_work", options.perturbation_work);
  if (const int64_t most = settings.take("most_work_per_arc"); most > 0)
    options.work_per_arc = most, options.least_work = int64_t{1} << 26;
  settings.expect_all_read();
  return options;
}

RepartitionOptions repartition_options(NamedSettings& settings) {
  RepartitionOptions options;
  settings.read("new_bisections", options.new_bisections);
  settings.read("rounds", options.rounds);
  settings.read("budget", options.budget);
  settings.expect_all_read();
  return options;
}

}  // namespace

void bind_slot_groups(nb::module_& m) {
  define(m, "swap_refine",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, In<int64_t> capacity, uint64_t seed, NamedSettings given, In<int32_t> settled,
            Out<int32_t> pe, Out<int64_t> counted) {
           const TeamOfCall team(given.threads());
           const SwapOptions options = swap_options(given);
           expect_placement(pe, arrays.n(), std::ssize(capacity));
           expect(settled.empty() || settled.size() == pe.size(), "mappings");
           expect_below(settled, std::ssize(capacity), "PEs");
           expect(counted.size() >= 3, "counters");
           SwapCounts counts;
           const auto refine = [&](const auto& graph, const auto& distance) {
             return swap_refine(graph, distance, capacity, seed, options, control.with_team(team), settled,
                                pe, counts);
           };
           const int64_t change = on_both(arrays, costs, distances, capacity.size(), refine);
           counted[0] = counts.evaluations, counted[1] = counts.swaps, counted[2] = counts.settled;
           return change;
         });
  define(m, "repartition_pairs",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control given_control, In<int32_t> pairs, In<int64_t> unit_start, NamedSettings given,
            uint64_t seed, In<int64_t> capacity, Out<int32_t> pe, Out<int64_t> counted) {
           const TeamOfCall team(given.threads());
           const Control control = given_control.with_team(team);
           const RepartitionOptions options = repartition_options(given);
           expect_placement(pe, arrays.n(), std::ssize(capacity));
           expect_offsets(unit_start, capacity.size(), "units");
           expect_below(pairs, std::ssize(unit_start) - 1, "units");
           expect(counted.size() >= 4, "counters");
           on_both(arrays, costs, distances, capacity.size(), [&](const auto& graph, const auto& distance) {
             SwapSearch search(graph, distance, capacity, pe, SwapOptions{}, control);
             PairwiseRepartition repartition(graph, search, unit_start, options, control);
             counted[3] = repartition.run(pairs, seed, counted[2] = 0);
             control.record_work(repartition.scanned_edges());
             const SearchCounts& counts = search.state().counts();
             counted[0] = counts.evaluations, counted[1] = counts.swaps;
           });
         });
}
