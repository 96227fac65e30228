// Mapping to the PEs of a machine by one multilevel hierarchy: the groups of PEs are divided during
// uncoarsening.
#pragma once
#include "partition/context.hpp"
#include "partition/machine_levels.hpp"
#include "graph/graph.hpp"
#include "util/control.hpp"

namespace hopbytes {

// The settings of deep multisection. The options of the mapper of this name have the same defaults.
struct DeepContext {
  int64_t per_child = 200;    // vertices of the graph on which a group is divided, per child
  int64_t per_child_of_box = 6400;  // the same in boxes and the like, see may_be_box()
  int64_t fewest = 2000;      // vertices of the coarsest graph
  int32_t rounds = 8;         // synchronous rounds of moves on every graph, see move_synchronously()
  RefinementContext refinement{.fm = {.rounds = 1, .fruitless_moves = 15, .seeds = 50},
                               .flow = {.rounds = 2, .width = 3, .layers = 3}};
  InitialContext initial{2, 0, 60, 1, 0};  // of the partition of a group
  // For more effort, and where vertices are fixed.
  static constexpr InitialContext kMoreInitial{4, 0, 60, 4, 2, true};
  static constexpr RefinementContext kMoreRefinement{.fm = {.rounds = 10, .fruitless_moves = 40, .seeds = 25},
                                                     .flow = {.rounds = 2}};
  // Instead of this the whole graph is divided anew at every level, with `initial` and `refinement`, of which
  // inner levels, which decide less of the cost, get less.
  bool anew = false;
};

// Writes the PE of every vertex; overloaded PEs are possible where vertices are heavy. The graph is coarsened
// once. On the way back the groups of a level of the machine are divided as soon as the graph has enough
// vertices for each of their children, the outermost level first, and every graph is refined under the
// distances of the groups that there are (deep multilevel partitioning: Gottesbüren, Heuer, Sanders, Schulz,
// Seemaier 2021; here for any distances). All vertices are divided at the end, so that a search that is
// stopped early has a mapping. Linear costs may only fix vertices to PEs, where they are in every mapping,
// also if their loads exceed a bound. The result does not depend on the number of threads.
template <class W>
void deep_multisection(const Graph<W>& g, const std::vector<MachineLevel>& levels, const DeepContext& context,
                       uint64_t seed, const Control& control, std::span<int32_t> pe);

}  // namespace hopbytes
