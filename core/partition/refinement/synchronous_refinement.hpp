// Synchronous rounds of moves as one of the refiners of a level.
#pragma once
#include "graph/unit_weight.hpp"
#include "partition/refinement/refiner.hpp"
#include "partition/refinement/synchronous_moves.hpp"

namespace hopbytes {

template <class W> class SynchronousRefinement : public Refiner<W> {
 public:
  explicit SynchronousRefinement(int32_t rounds) : rounds_(rounds) {}

  void refine(Partition<W>& partition, Rng&, const Control& control) override {
    const Graph<W>& g = partition.graph();
    if (!g.weight.all_one()) return run(g, partition, control);
    Graph<UnitWeight> unit;
    static_cast<GraphShape&>(unit) = g;
    run(unit, partition, control);
  }

 private:
  template <class V> void run(const Graph<V>& g, Partition<W>& partition, const Control& control) {
    SynchronousMoves moves(g, partition.distance(), partition.max_block_weights(), partition.blocks(),
                           partition.may_be_boundary(), control.team());
    if (moves.refine(rounds_, control) > 0) partition.moved_near_boundary(moves.loads());
  }

  int32_t rounds_;
};

}  // namespace hopbytes
