// Relaxation of the shapes of blocks.
#pragma once
#include "partition/context.hpp"
#include "partition/relaxation/auction.hpp"
#include "partition/relaxation/diffusion.hpp"
#include "partition/score.hpp"

namespace hopbytes {

// Whether the blocks are numerous and large enough. With few blocks their shapes hardly matter.
inline bool suits_relaxation(const GraphShape& g, int64_t blocks, const RelaxationContext& how) {
  return how.rounds > 0 && blocks >= how.fewest_blocks && g.n >= how.fewest_vertices * blocks &&
         !g.linear_cost;
}

// Whether a cut is so much larger than the one before that refinement will not make up for it. A round on
// meshes raises the cut by up to a quarter, on social networks by half or more.
inline bool far_above(int64_t cut, int64_t before) { return cut / 4 > before / 3; }

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
                  const Control& control, std::vector<int32_t>& block) {
  const Graph<W>& g = hierarchy.graph(0);
  const int64_t cut = score(g, block.data(), max_block_weight, control.team()).cut;
  Diffusion<W> diffusion(hierarchy, std::ssize(max_block_weight), control);
  Auction auction(g, max_block_weight, control);
  std::vector<int32_t> relaxed = block;
  for (int32_t round = 0; round < rounds; ++round) {
    const Auction::Result found = auction.assign(diffusion.spread(block), relaxed);
    // Refinement cannot repair an assignment whose prices did not settle.
    if (control.should_stop() || found.overload > g.total_load / 50) return round > 0;
    if (round == 0 && far_above(score(g, relaxed.data(), max_block_weight, control.team()).cut, cut))
      return false;
    block = relaxed;
    if (found.moved <= g.n / 2000) break;
  }
  return true;
}

}  // namespace hopbytes
