// Binds repair.hpp and list_schedule.hpp.
#include "feasibility/list_schedule.hpp"
#include "feasibility/repair.hpp"
#include "released_lock.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using Release = nb::call_guard<ReleasedLock>;

namespace {

using Counters = std::tuple<int64_t, int64_t, int64_t, int64_t>;

// Runs one of two repairs.
template <class Nearest>
Counters run(const Csr& graph, In<int64_t> load, Out<int32_t> pe, In<int64_t> capacity, bool fill,
             const AnyDistance& distance, Nearest nearest, Out<int32_t> control,
             const std::shared_ptr<const LinearCost>& linear_cost) {
  expect_graph(graph.indptr, graph.target, graph.weight.size(), load.size());
  expect_placement(pe, graph.indptr.size() - 1, std::ssize(capacity));
  Repair<Nearest> repair(graph, load, pe, capacity, distance, nearest, Control(control.data()),
                         linear_cost.get());
  const RepairResult done = fill ? repair.fill_empty() : repair.enforce_capacities();
  constexpr __int128 most = std::numeric_limits<int64_t>::max();
  const auto change = static_cast<int64_t>(std::clamp(done.cost_change, -most, most));
  return {done.moves, done.swaps, change, done.pes_compared};
}

}  // namespace

void bind_repair(nb::module_& m) {
  m.def(
      "repair_tree",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int64_t> load,
         OutArray<int32_t> pe, InArray<int64_t> capacity, bool fill, InArray<uint64_t> label,
         InArray<int64_t> bit_cost, OutArray<int32_t> control, LinearCostArrays linear_cost) {
        return run({in(indptr), in(target), in(weight)}, in(load), out(pe), in(capacity), fill,
                   TreeDistance{label.data(), bit_cost.data()}, NearestInTree(in(label), in(bit_cost)),
                   out(control), linear_cost_of(linear_cost));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "loads"_a.noconvert(),
      "pe"_a.noconvert(), "capacities"_a.noconvert(), "fill_empty"_a, "labels"_a.noconvert(),
      "bit_costs"_a.noconvert(), "control"_a.noconvert(), "linear_cost"_a.noconvert(), Release());
  m.def(
      "repair_table",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int64_t> load,
         OutArray<int32_t> pe, InArray<int64_t> capacity, bool fill, InArray<uint64_t> label,
         InArray<int64_t> table, OutArray<int32_t> control, LinearCostArrays linear_cost) {
        const int64_t k = static_cast<int64_t>(capacity.size());
        const AnyDistance distance = any_distance(in(label), {}, in(table), capacity.size());
        return run({in(indptr), in(target), in(weight)}, in(load), out(pe), in(capacity), fill, distance,
                   NearestByScan(distance, k), out(control), linear_cost_of(linear_cost));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "loads"_a.noconvert(),
      "pe"_a.noconvert(), "capacities"_a.noconvert(), "fill_empty"_a, "labels"_a.noconvert(),
      "table"_a.noconvert(), "control"_a.noconvert(), "linear_cost"_a.noconvert(), Release());
  m.def(
      "list_schedule",
      [](InArray<int64_t> load, InArray<int64_t> capacity, OutArray<int32_t> pe) {
        list_schedule(in(load), in(capacity), out(pe));
      },
      "loads"_a.noconvert(), "capacities"_a.noconvert(), "pe"_a.noconvert(), Release());
}
