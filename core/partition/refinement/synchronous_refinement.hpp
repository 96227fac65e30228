// Synchronous rounds of moves as one of the refiners of a level.
#pragma once
#include "partition/refinement/refiner.hpp"
#include "partition/refinement/synchronous_moves.hpp"

namespace hopbytes {

template <class W> class SynchronousRefinement : public Refiner<W> {
 public:
  explicit SynchronousRefinement(int32_t rounds) : rounds_(rounds) {}

  void refine(Partition<W>& partition, Rng&, const Control& control) override {
    const SynchronousMoves moves =
        move_synchronously(partition.graph(), partition.distance(), partition.max_block_weights(), rounds_,
                           control, partition.may_be_boundary(), partition.blocks());
    if (moves.count > 0) partition.moved_near_boundary(moves.loads);
  }

 private:
  int32_t rounds_;
};

}  // namespace hopbytes
