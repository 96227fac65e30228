// The two halves of a multilevel mapping in which several threads work on every level of a large graph:
// coarsening, and refinement under the distances of the blocks in uncoarsening. The caller maps the coarsest
// graph in between.
#pragma once
#include <span>

#include "graph/any_distance.hpp"
#include "partition/context.hpp"
#include "partition/hierarchy.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Coarsens until at most context.target vertices are left, a round shrinks the graph too little, or control
// asks to stop. The graph has to outlive the hierarchy and must not have linear assignment costs. The result
// does not depend on the number of threads. O(n + m) work per level.
template <class W>
Hierarchy<W> coarsen_in_parallel(const Graph<W>& g, const CoarseningContext& context, uint64_t seed,
                                 int32_t threads, const Control& control);

struct UncoarseningSettings {
  int32_t rounds = 6;  // rounds of synchronous moves on a level
  // graphs with at most so many vertices are refined by one thread with the refiners of `refinement`
  int64_t sequential_up_to = 0;
  RefinementContext refinement;
  int32_t threads = 1;
};

// Refines a mapping of the coarsest graph on every level, from the coarsest on. The levels are contracted again
// from `maps`, the maps of all levels one after another, the finest first, and `sizes`, the number of vertices
// of each coarse level. `pe` begins with the block of every vertex of the coarsest graph and ends with that of
// every vertex of g. Blocks are overloaded at the end only where no move of single vertices could drain
// them. Returns the number of moves.
template <class W>
int64_t uncoarsen_in_parallel(const Graph<W>& g, std::span<const int32_t> maps, std::span<const int64_t> sizes,
                              const AnyDistance& distance, std::span<const int64_t> max_block_weight,
                              uint64_t seed, const UncoarseningSettings& settings, const Control& control,
                              std::span<int32_t> pe);

}  // namespace hopbytes
