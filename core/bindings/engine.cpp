// Binds the multilevel partitioner.
#include "partition/exact_placement.hpp"
#include "partition/groups.hpp"
#include "partition/vcycles.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"
#include "search_settings.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

GroupSettings group_settings(const nb::dict& given, int32_t& threads) {
  NamedSettings named(given);
  GroupSettings settings;
  named.read("repetitions", settings.repetitions);
  named.read("recombinations", settings.recombinations);
  named.read("threads", threads);
  named.read("bisection_repetitions", settings.bisection_repetitions);
  named.read("shared_hierarchies", settings.context.hierarchies);
  named.read("relaxation_rounds", settings.context.relaxation.rounds);
  named.read("annealing_sweeps", settings.context.annealing.sweeps);
  InitialContext& initial = settings.context.initial;
  named.read("initial_partitions", initial.partitions);
  named.read("contraction_limit", initial.contraction_limit);
  named.read("coarsest", initial.coarsest);
  named.read("region_growings", initial.growing_repetitions);
  named.read("coarse_recombinations", initial.recombinations);
  read_refinement(named, settings.context.refinement);
  named.expect_all_read();
  return settings;
}

VCycleSettings vcycle_settings(const nb::dict& given, int32_t& threads) {
  NamedSettings named(given);
  VCycleSettings settings;
  named.read("cycles", settings.cycles);
  named.read("coarsest", settings.coarsest);
  named.read("chains", settings.chains);
  named.read("threads", threads);
  named.read("annealing_sweeps", settings.annealing.sweeps);
  int64_t hot_percent = 0;
  named.read("annealing_hot_percent", hot_percent);
  settings.annealing.hot = static_cast<double>(hot_percent) / 100;
  named.read("anneal_distant", settings.anneal_distant);
  read_refinement(named, settings.refinement);
  named.expect_all_read();
  return settings;
}

AnyDistance distance_of(const DistanceArrays& distances, size_t k) {
  const auto& [label, bit_cost, table] = distances;
  return any_distance(in(label), in(bit_cost), in(table), k);
}

}  // namespace

void bind_engine(nb::module_& m) {
  m.def(
      "partition_many",
      [](GraphArrays arrays, LinearCostArrays linear_cost, ControlArrays control_arrays,
         InArray<int32_t> group, InArray<int64_t> block_start, InArray<int64_t> max_block_weight,
         InArray<uint64_t> seed, InArray<int32_t> candidates, const nb::dict& given, OutArray<int32_t> child,
         OutArray<int64_t> cut) {
        int32_t threads = 1;
        GroupSettings settings = group_settings(given, threads);
        const ReleasedLock released;
        const TeamOfCall team(threads);
        settings.finished = std::get<0>(control_arrays).data() + 1;
        const size_t n = std::get<0>(arrays).size() - 1;
        expect(group.size() == n && child.size() == n && block_start.size() == seed.size() + 1, "groups");
        expect_below(in(group), std::ssize(in(seed)), "groups", team);
        expect_offsets(in(block_start), max_block_weight.size(), "blocks of groups");
        on_graph(
            arrays, linear_cost,
            [&](const auto& graph) {
              partition_many(graph, in(group), in(block_start), in(max_block_weight), in(seed),
                             in(candidates), settings, control_of(control_arrays).with_team(team), out(child),
                             out(cut));
            },
            team);
      },
      "graph"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(), "group"_a.noconvert(),
      "block_start"_a.noconvert(), "max_block_weights"_a.noconvert(), "seeds"_a.noconvert(),
      "candidates"_a.noconvert(), "settings"_a, "child"_a.noconvert(), "cut"_a.noconvert());
  m.def(
      "refine_placement",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int64_t> max_block_weight, uint64_t seed,
         const nb::dict& given, InArray<int32_t> others, OutArray<int32_t> pe) {
        int32_t threads = 1;
        VCycleSettings settings = vcycle_settings(given, threads);
        const ReleasedLock released;
        const TeamOfCall team(threads);
        settings.others = in(others);
        const auto n = std::get<0>(arrays).size() - 1;
        const auto k = static_cast<int64_t>(max_block_weight.size());
        expect_placement(out(pe), n, k, team);
        expect(n == 0 || others.size() % n == 0, "mappings");
        expect_below(in(others), k, "PEs", team);
        return on_graph(
            arrays, linear_cost,
            [&](const auto& graph) {
              return refine_placement(graph, distance_of(distances, max_block_weight.size()),
                                      in(max_block_weight), seed, settings,
                                      control_of(control_arrays).with_team(team), out(pe));
            },
            team);
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "max_block_weights"_a.noconvert(), "seed"_a, "settings"_a, "others"_a.noconvert(), "pe"_a.noconvert());
  m.def(
      "even_placement",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int64_t> size, uint64_t seed, int32_t sweeps,
         int64_t hot_percent, OutArray<int32_t> pe) {
        const ReleasedLock released;
        AnnealingContext annealing;
        annealing.sweeps = sweeps;
        annealing.hot_if_exact = static_cast<double>(hot_percent) / 100;
        return on_graph(arrays, linear_cost, [&](const auto& graph) {
          return even_placement(graph, distance_of(distances, size.size()), in(size), seed, annealing,
                                control_of(control_arrays), out(pe));
        });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "sizes"_a.noconvert(), "seed"_a, "sweeps"_a, "hot_percent"_a, "pe"_a.noconvert());
}
