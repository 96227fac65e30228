// Binds repair.hpp and list_schedule.hpp.
#include <nanobind/stl/tuple.h>

#include "feasibility/list_schedule.hpp"
#include "feasibility/repair.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

void bind_repair(nb::module_& m) {
  define(m, "repair",
         [](const GraphArrays& given, Out<int32_t> pe, In<int64_t> capacity, bool fill,
            const DistanceArrays& distances, Control control, const LinearCostArrays& costs) {
           expect_graph(given);
           expect_placement(pe, given.n(), std::ssize(capacity));
           expect_below(costs.block, std::ssize(capacity), "PEs");
           const AnyDistance distance = any_distance(distances, capacity.size());
           const auto linear_cost = linear_cost_of(costs, given.n());
           const Nearest nearest = distances.table.empty()
                                       ? Nearest(NearestInTree(distances.label, distances.bit_cost))
                                       : Nearest(NearestByScan(distance, std::ssize(capacity)));
           Repair repair(given.csr, given.load, pe, capacity, distance, nearest, control, linear_cost.get());
           const RepairResult done = fill ? repair.fill_empty() : repair.enforce_capacities();
           constexpr __int128 most = std::numeric_limits<int64_t>::max();
           const auto change = static_cast<int64_t>(std::clamp(done.cost_change, -most, most));
           return std::tuple(done.moves, done.swaps, change, done.pes_compared);
         });
  define(m, "list_schedule", list_schedule);
}
