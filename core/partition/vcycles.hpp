// Improves a mapping under its true distances: by refinement of the graph itself, or by V-cycles that coarsen
// inside PEs and refine on every level. Annealing of the boundaries of PEs may follow.
#pragma once
#include "graph/any_distance.hpp"
#include "util/control.hpp"
#include "partition/context.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

struct VCycleSettings {
  int32_t cycles = 0;  // 0 refines only the graph itself
  int32_t coarsest = 40;  // vertices per PE of the coarsest graph of a V-cycle
  int32_t chains = 1;  // independent sequences of cycles, of which the cheapest result is kept
  RefinementContext refinement;
  AnnealingContext annealing;
  // Whether to anneal although distant PEs carry nearly all of the cost: on networks they are no tree.
  bool anneal_distant = false;
  // Mappings to recombine with, one per cycle (rows of n). A cycle contracts only vertices that are together
  // in both mappings, so that it can choose between them region by region.
  std::span<const int32_t> others;
};

// Refines pe in place by the cheapest of several sequences. The mapping never becomes worse: a cycle with a
// more expensive result is discarded. Returns the number of moves made.
template <class W>
int64_t refine_placement(const Graph<W>& g, const AnyDistance& distance,
                         std::span<const int64_t> max_block_weight, uint64_t seed,
                         const VCycleSettings& settings, const Control& control, std::span<int32_t> pe);

// Anneals the boundaries of PEs if that suits (annealing.hpp), and gives the PEs their sizes, which `pe` need
// not have before. Sizes must add up to the number of tasks. Returns whether all PEs have their sizes then;
// the mapping may cost more than before, since exchanges of tasks are expected to follow.
template <class W>
bool even_placement(const Graph<W>& g, const AnyDistance& distance, std::span<const int64_t> size,
                    uint64_t seed, const AnnealingContext& annealing, const Control& control,
                    std::span<int32_t> pe);

}  // namespace hopbytes
