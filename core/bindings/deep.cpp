// Binds deep multisection.
#include "partition/deep_multisection.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"
#include "search_settings.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

DeepContext deep_settings(const nb::dict& given, int32_t& threads, Machine& machine) {
  NamedSettings named(given);
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
  m.def(
      "deep_multisection",
      [](GraphArrays arrays, DistanceArrays distances, LinearCostArrays linear_cost,
         ControlArrays control_arrays, InArray<int32_t> groups, InArray<int64_t> capacity,
         InArray<int64_t> max_load, uint64_t seed, const nb::dict& given, OutArray<int32_t> pe) {
        int32_t threads = 1;
        const size_t k = max_load.size();
        const auto& [label, bit_cost, table] = distances;
        const AnyDistance distance = any_distance(in(label), in(bit_cost), in(table), k);
        Machine machine{in(groups), in(capacity), in(max_load), 1, 8, distance};
        const DeepContext context = deep_settings(given, threads, machine);
        const ReleasedLock released;
        const TeamOfCall team(threads);
        expect(capacity.size() == k && k > 0 && groups.size() > 0 && groups.size() % k == 0 &&
                   machine.most_children > 1 && pe.size() + 1 == std::get<0>(arrays).size(),
               "levels of a machine");
        const std::vector<MachineLevel> levels = levels_of(machine);
        expect(levels.back().children() == static_cast<int64_t>(k), "levels of a machine");
        on_graph(
            arrays, linear_cost,
            [&](const auto& graph) {
              deep_multisection(graph, levels, context, seed, control_of(control_arrays).with_team(team),
                                out(pe));
            },
            team);
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "linear_cost"_a.noconvert(), "control"_a.noconvert(),
      "groups"_a.noconvert(), "capacity"_a.noconvert(), "max_loads"_a.noconvert(), "seed"_a, "settings"_a,
      "pe"_a.noconvert());
}
