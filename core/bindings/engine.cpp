// Binds the multilevel partitioner and deep multisection.
#include "partition/deep_multisection.hpp"
#include "partition/groups.hpp"
#include "partition/vcycles.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

namespace {

// Reads the fields of Python's SearchSettings.
void read_refinement(NamedSettings& settings, RefinementContext& context) {
  settings.read("rounds", context.fm.rounds);
  settings.read("fruitless_moves", context.fm.fruitless_moves);
  settings.read("seeds", context.fm.seeds);
  settings.read("flow_rounds", context.flow.rounds);
  settings.read("flow_width", context.flow.width);
  settings.read("overload_percent", context.overload_percent);
}

GroupSettings group_settings(NamedSettings& named) {
  GroupSettings settings;
  named.read("repetitions", settings.repetitions);
  named.read("recombinations", settings.recombinations);
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

VCycleSettings vcycle_settings(NamedSettings& named) {
  VCycleSettings settings;
  named.read("cycles", settings.cycles);
  named.read("coarsest", settings.coarsest);
  named.read("chains", settings.chains);
  named.read("annealing_sweeps", settings.annealing.sweeps);
  int64_t hot_percent = 0;
  named.read("annealing_hot_percent", hot_percent);
  settings.annealing.hot = static_cast<double>(hot_percent) / 100;
  named.read("anneal_distant", settings.anneal_distant);
  read_refinement(named, settings.refinement);
  named.expect_all_read();
  return settings;
}

DeepContext deep_settings(NamedSettings& named, Machine& machine) {
  DeepContext context;
  named.read("heaviest", machine.heaviest);
  named.read("most_children", machine.most_children);
  named.read("per_child", context.per_child);
  named.read("fewest", context.fewest);
  named.read("synchronous_rounds", context.rounds);
  named.read("initial_partitions", context.initial.partitions);
  named.read("region_growings", context.initial.growing_repetitions);
  read_refinement(named, context.refinement);
  named.expect_all_read();
  return context;
}

// Throws unless these are groups of vertices, with blocks that costs and other partitions do not exceed.
void expect_groups(const GraphArrays& graph, const LinearCostArrays& costs, In<int32_t> group,
                   In<int64_t> block_start, size_t blocks, In<int32_t> candidates, Team& team) {
  const int64_t n = graph.n(), groups = std::ssize(block_start) - 1;
  expect_offsets(block_start, blocks, "blocks of groups");
  expect(std::ssize(group) == n && (n == 0 ? candidates.empty() : std::ssize(candidates) % n == 0), "groups");
  expect_below(group, groups, "groups", team);
  const auto blocks_of = [&](int64_t v) { return block_start[group[v] + 1] - block_start[group[v]]; };
  bool fits = true;
  for (int64_t i = 0; i < std::ssize(candidates); ++i)
    fits &= candidates[i] >= -1 && candidates[i] < blocks_of(i % n);
  for (int64_t v = 0; v + 1 < std::ssize(costs.start) && v < n; ++v)
    for (int64_t e = costs.start[v]; e < costs.start[v + 1] && e < std::ssize(costs.block); ++e)
      fits &= costs.block[e] >= 0 && costs.block[e] < blocks_of(v);
  expect(fits, "blocks of groups");
}

}  // namespace

void bind_engine(nb::module_& m) {
  define(m, "partition_many",
         [](const GraphArrays& arrays, const LinearCostArrays& costs, const ControlArrays& flags,
            In<int32_t> group, In<int64_t> block_start, In<int64_t> max_block_weight, In<uint64_t> seed,
            In<int32_t> candidates, NamedSettings named, Out<int32_t> child, Out<int64_t> cut) {
           const TeamOfCall team(named.threads());
           GroupSettings settings = group_settings(named);
           settings.finished = flags.flag.data() + 1;
           expect_groups(arrays, costs, group, block_start, max_block_weight.size(), candidates, team);
           expect(child.size() == group.size() && block_start.size() == seed.size() + 1 &&
                      cut.size() == seed.size() && flags.flag.size() > 1,
                  "groups");
           const auto partition = [&](const auto& graph) {
             partition_many(graph, group, block_start, max_block_weight, seed, candidates, settings,
                            control_of(flags).with_team(team), child, cut);
           };
           on_graph(arrays, costs, partition, team);
         });
  define(m, "refine_placement",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, In<int64_t> max_block_weight, uint64_t seed, NamedSettings named,
            In<int32_t> others, Out<int32_t> pe) {
           const TeamOfCall team(named.threads());
           VCycleSettings settings = vcycle_settings(named);
           settings.others = others;
           const int64_t n = arrays.n(), k = std::ssize(max_block_weight);
           expect_placement(pe, n, k, team);
           expect(n == 0 || std::ssize(others) % n == 0, "mappings");
           expect_below(others, k, "PEs", team);
           expect_below(costs.block, k, "PEs", team);
           const AnyDistance distance = any_distance(distances, max_block_weight.size());
           const auto refine = [&](const auto& graph) {
             return refine_placement(graph, distance, max_block_weight, seed, settings,
                                     control.with_team(team), pe);
           };
           return on_graph(arrays, costs, refine, team);
         });
  define(m, "even_placement",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, In<int64_t> size, uint64_t seed, int32_t sweeps, int64_t hot_percent,
            Out<int32_t> pe) {
           expect_placement(pe, arrays.n(), std::ssize(size));
           expect_below(costs.block, std::ssize(size), "PEs");
           AnnealingContext annealing;
           annealing.sweeps = sweeps;
           annealing.hot_if_exact = static_cast<double>(hot_percent) / 100;
           const AnyDistance distance = any_distance(distances, size.size());
           return on_graph(arrays, costs, [&](const auto& graph) {
             return even_placement(graph, distance, size, seed, annealing, control, pe);
           });
         });
  define(m, "deep_multisection",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, In<int32_t> groups, In<int64_t> capacity, In<int64_t> max_load, uint64_t seed,
            NamedSettings named, Out<int32_t> pe) {
           const TeamOfCall team(named.threads());
           const int64_t k = std::ssize(max_load);
           const AnyDistance distance = any_distance(distances, max_load.size());
           Machine machine{groups, capacity, max_load, 1, 8, distance};
           const DeepContext context = deep_settings(named, machine);
           expect(std::ssize(capacity) == k && k > 0 && !groups.empty() && std::ssize(groups) % k == 0 &&
                      machine.most_children > 1 && std::ssize(pe) == arrays.n(),
                  "levels of a machine");
           expect_below(costs.block, k, "PEs");
           const std::vector<MachineLevel> levels = levels_of(machine);
           expect(levels.back().children() == k, "levels of a machine");
           const auto map = [&](const auto& graph) {
             const LinearCost* fixed = graph.linear_cost.get();
             for (int64_t v = 0; fixed && v < graph.n; ++v)
               expect(std::ssize(fixed->listed(v)) == (fixed->rest[v] != 0), "fixed tasks");
             deep_multisection(graph, levels, context, seed, control.with_team(team), pe);
           };
           on_graph(arrays, costs, map, team);
         });
}
