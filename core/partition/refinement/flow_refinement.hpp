// Minimum cuts between all pairs of adjacent blocks, under any distance.
#pragma once
#include "partition/refinement/refiner.hpp"

namespace hopbytes {

// Refines the pairs of blocks with the most expensive boundaries first; later rounds visit only pairs with a
// block that changed. A partition with overload is left as it is. Several threads work on pairs without a
// common block, and the result does not depend on their number.
template <class W> class FlowRefinement : public Refiner<W> {
 public:
  explicit FlowRefinement(const FlowContext& context) : context_(context) {}

  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

 private:
  FlowContext context_;
};

}  // namespace hopbytes
