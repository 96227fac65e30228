// Binds pair_search.hpp, chains.hpp and constructions.hpp: one task per slot. What uses Exchange is compiled
// here and what uses SwapSearch in slot_groups.cpp, so that neither is compiled twice.
#include "assignment/chains.hpp"
#include "assignment/constructions.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

namespace {

enum PairSearch { all_pairs = 0, blocks = 1, near_pairs = 2, listed_pairs = 3 };

// Calls search(exchange, counts) and reports what it counts.
template <class Search>
void exchange_tasks(const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
                    const Control& control, In<int32_t> order, In<int64_t> capacity, Out<int32_t> pe,
                    Out<int64_t> counted, Search search) {
  expect_placement(pe, arrays.n(), std::ssize(capacity));
  expect_below(order, arrays.n(), "tasks");
  expect(counted.size() >= 2, "counters");
  SearchCounts counts;
  on_both(arrays, costs, distances, capacity.size(), [&](const auto& graph, const auto& distance) {
    Exchange exchange(graph, distance, capacity, pe);
    search(exchange, counts);
  });
  control.record_work(counts.scanned);
  counted[0] = counts.evaluations, counted[1] = counts.swaps;
}

}  // namespace

void bind_slots(nb::module_& m) {
  define(m, "pair_search",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, int kind, int64_t reach, In<int32_t> order, In<int64_t> capacity,
            Out<int32_t> pe, Out<int64_t> counted) {
           expect(kind != listed_pairs || order.size() % 2 == 0, "pairs");
           const auto search = [&](auto& exchange, SearchCounts& counts) {
             if (kind == all_pairs) search_cyclic(exchange, 0, arrays.n(), control, counts);
             if (kind == blocks) search_blocks(exchange, reach, control, counts);
             if (kind == near_pairs) search_near_pairs(exchange, reach, order, control, counts);
             if (kind == listed_pairs) search_listed_pairs(exchange, order, control, counts);
           };
           exchange_tasks(arrays, distances, costs, control, order, capacity, pe, counted, search);
         });
  define(m, "chain_search",
         [](const GraphArrays& arrays, const DistanceArrays& distances, const LinearCostArrays& costs,
            Control control, int64_t fruitless_exchanges, int64_t budget, In<int32_t> order,
            In<int64_t> capacity, Out<int32_t> pe, Out<int64_t> counted) {
           const auto search = [&](auto& exchange, SearchCounts& counts) {
             ChainSearch(exchange, pe, std::ssize(capacity), fruitless_exchanges, budget, control, counts)
                 .run(order);
           };
           exchange_tasks(arrays, distances, costs, control, order, capacity, pe, counted, search);
         });
  define(m, "place_greedily",
         [](const GraphArrays& arrays, const DistanceArrays& distances, Control control, bool linked,
            In<int64_t> room, Out<int32_t> pe) {
           expect(std::ssize(pe) == arrays.n(), "a graph and a mapping");
           expect_room(room, arrays.n());
           on_both(arrays, {}, distances, room.size(), [&](const auto& graph, const auto& distance) {
             place_greedily(graph, distance, room, linked, control, pe);
           });
         });
}
