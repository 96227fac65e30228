// Minimum cuts between all pairs of adjacent blocks, under any distance.
#pragma once
#include "partition/refinement/refiner.hpp"
#include "partition/refinement/region_widths.hpp"

namespace hopbytes {

// Refines the pairs of blocks with the most expensive boundaries first; later rounds visit only pairs with a
// block that changed, and in large graphs only regions near a move. A partition with overload is left as it
// is. In large graphs all pairs are cut at the same time, long boundaries in regions; in others, pairs
// without a common block are if all blocks are equally far apart. The result does not depend on the number of
// threads.
template <class W> class FlowRefinement : public Refiner<W> {
 public:
  explicit FlowRefinement(const FlowContext& context) : context_(context) {}

  void start() override { widths_.forget(); }
  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

 private:
  FlowContext context_;
  RegionWidths widths_;  // known from coarser graphs
};

}  // namespace hopbytes
