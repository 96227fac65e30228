// Binds deep multisection.
#include "partition/deep_multisection.hpp"
#include "search_arguments.hpp"
#include "search_settings.hpp"
#include "util/team.hpp"

using namespace hopbytes;

namespace {

DeepContext deep_settings(NamedSettings& named, int32_t& threads, Machine& machine) {
  DeepContext context;
  named.read("threads", threads);
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

}  // namespace

void bind_deep(nb::module_& m) {
  define(m, "deep_multisection",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, In<int32_t> groups, In<int64_t> capacity, In<int64_t> max_load, uint64_t seed,
            NamedSettings named, Out<int32_t> pe) {
           int32_t threads = 1;
           const int64_t k = std::ssize(max_load);
           const AnyDistance distance = any_distance(distances, max_load.size());
           Machine machine{groups, capacity, max_load, 1, 8, distance};
           const DeepContext context = deep_settings(named, threads, machine);
           const TeamOfCall team(threads);
           expect(std::ssize(capacity) == k && k > 0 && !groups.empty() && std::ssize(groups) % k == 0 &&
                      machine.most_children > 1 && std::ssize(pe) == arrays.n(),
                  "levels of a machine");
           expect_below(costs.block, k, "PEs");
           const std::vector<MachineLevel> levels = levels_of(machine);
           expect(levels.back().children() == k, "levels of a machine");
           const auto map = [&](const auto& graph) {
             deep_multisection(graph, levels, context, seed, control.with_team(team), pe);
           };
           on_graph(arrays, costs, map, team);
         });
}
