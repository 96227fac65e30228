// Relaxation of the shapes of blocks.
#pragma once
#include <span>
#include <vector>

#include "partition/context.hpp"
#include "partition/hierarchy.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Whether the blocks are numerous and large enough. With few blocks their shapes hardly matter.
inline bool suits_relaxation(const GraphShape& g, int64_t blocks, const RelaxationContext& how) {
  return how.rounds > 0 && blocks >= how.fewest_blocks && g.n >= how.fewest_vertices * blocks &&
         !g.linear_cost;
}

// Moves the boundaries of blocks towards shorter ones while the blocks about keep their sizes: curvature flow
// by rounds of diffusion and assignment (Merriman, Bence, Osher 1992, with auctions for the sizes: Jacobs,
// Merkurjev, Esedoglu 2018; both for images and point clouds). Recursive partition leaves blocks like bricks;
// local search does not get from there to honeycombs, whose boundaries are shorter, because every single move
// on the way is a loss. The result is a start for refinement: before it, the cut may be larger than that of
// the given blocks. Returns false if the graph is not like a mesh, where shapes mean nothing; the blocks
// remain as they were. The coarsest graph of the hierarchy should have about RelaxationContext::coarsest
// vertices per block.
template <class W>
bool relax_shapes(const Hierarchy<W>& hierarchy, std::span<const int64_t> max_block_weight, int32_t rounds,
                  const Control& control, std::vector<int32_t>& block);

}  // namespace hopbytes
