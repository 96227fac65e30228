#include "partition/relaxation/relax.hpp"

#include "partition/relaxation/auction.hpp"
#include "partition/relaxation/diffusion.hpp"
#include "partition/score.hpp"

namespace hopbytes {

namespace {

// Whether a cut is so much larger than the one before that refinement will not make up for it. A round on
// meshes raises the cut by up to a quarter, on social networks by half or more.
bool far_above(int64_t cut, int64_t before) { return cut / 4 > before / 3; }

}  // namespace

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

template bool relax_shapes(const Hierarchy<int32_t>&, std::span<const int64_t>, int32_t, const Control&,
                           std::vector<int32_t>&);
template bool relax_shapes(const Hierarchy<int64_t>&, std::span<const int64_t>, int32_t, const Control&,
                           std::vector<int32_t>&);

}  // namespace hopbytes
