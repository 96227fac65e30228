// One partition of a graph into blocks with maximum weights: several initial partitions of a coarse graph,
// refinement of the best one during uncoarsening, and recombination of several such partitions.
#pragma once
#include <span>
#include <vector>

#include "partition/context.hpp"
#include "partition/refinement/refiner.hpp"
#include "partition/score.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Assigns repetitions to coarsening hierarchies of a large graph. The first `alone` repetitions have a
// hierarchy each, of the others `together` share one, so that the work on the large graph does not grow with
// the number of repetitions: they are compared and recombined on small graphs, and only the best one is
// uncoarsened.
struct RepetitionsByHierarchy {
  int64_t repetitions = 1, alone = 0, together = 1;
  int64_t hierarchies() const { return alone + (repetitions - alone + together - 1) / together; }
  int64_t first_of(int64_t hierarchy) const {
    return std::min(repetitions, hierarchy <= alone ? hierarchy : alone + (hierarchy - alone) * together);
  }
};

template <class W> class Partitioner {
 public:
  // The maximum block weights are kept by reference.
  Partitioner(std::span<const int64_t> max_block_weight, const Context& context, const Control& control);

  // Assigns repetitions to hierarchies where the graph is large. On lattices, where straight cuts are visible
  // on fine graphs only, half of the hierarchies belong to one repetition each, which find the best
  // partitions.
  RepetitionsByHierarchy hierarchies(const Graph<W>& g, int64_t repetitions) const;

  // Makes `count` independent repetitions, numbered from `first`, on the coarse graph of one shared
  // hierarchy, recombines them in pairs and uncoarsens the best one. On road-like graphs the coarse graph
  // are the fragments between natural cuts, and there are more repetitions. A partition around the core of
  // the graph competes with the first one.
  Score repeat(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t first, int64_t count);

  // Contracts vertices that are together in all given partitions (in `block` if `other` is null), starts from
  // `block` and refines during uncoarsening. The result is never worse than `block`.
  Score recombine(const Graph<W>& g, std::vector<int32_t>& block, const int32_t* other, uint64_t seed);

  // Anneals the boundaries of many small blocks and refines them. The result is never worse than `block`.
  Score anneal(const Graph<W>& g, std::vector<int32_t>& block, const Score& before, uint64_t seed);

  // Whether the last call of repeat() found a better partition by relaxing the shapes of its blocks.
  bool relaxation_helped() const { return relaxation_helped_; }

 private:
  enum class Run { kEqualSizes, kBundles };
  // The numbers of blocks that are computed directly, without bundles.
  static constexpr int64_t kManyBundles = 4, kBisection = 2;
  Run kind_of_run(const Graph<W>& g, int64_t number) const;
  // Makes one of several independent repetitions. They alternate between kinds of initial partitions, because
  // these find different results: recursive partition into many bundles, or bisection. Where the maximum
  // block weights leave little room, blocks of equal sizes are the first kind: exchanging vertices gets
  // further there than moving single vertices. Where edge weights are uneven, three of four repetitions are
  // of that kind: a bisection from its own coarsening finds the few light edges that matter. Many blocks
  // grown side by side rarely find them, but when they do, the result is better.
  Score repetition(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t number);

  // repeat() without the partition around the core, which then takes the place of `block` if it is better.
  Score repeat_multilevel(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t first,
                          int64_t count);
  Score around_core_if_better(const Graph<W>& g, std::vector<int32_t>& block, const Score& found,
                              uint64_t seed);
  // Computes a partition from scratch; more than `direct` blocks are computed in bundles.
  Score partition(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t direct);
  Score in_bundles(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t direct);
  // Relaxes the shapes of the blocks and refines them; keeps the given blocks unless that is better.
  Score relaxed(const Graph<W>& g, std::vector<int32_t>& block, const Score& before, uint64_t seed);
  Score from_equal_sizes(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed);

  // Returns the best initial partition, recombined with the next best ones in turn.
  std::vector<int32_t> best_initial_partition(const Graph<W>& g, Rng& rng);
  // Computes one initial partition: coarsens anew to the size at which bisections are grown.
  Candidate initial_partition(const Graph<W>& g, uint64_t seed, bool around_fixed, const Control& control);

  Score quality();
  // Whether blocks of equal sizes are possible: every vertex is small compared with every block, and all
  // vertices fit.
  bool is_divisible(const Graph<W>& g) const;
  // Whether a block has less room than one of its sides needs to move by about one vertex. Many blocks of few
  // vertices are better partitioned the other way.
  bool is_tight(const Graph<W>& g) const;
  double total_slack(const Graph<W>& g) const;
  bool starts_coarse(const Graph<W>& g) const;
  CoarseningContext coarsening(const Graph<W>& g) const;
  int64_t coarsest_size(const Graph<W>& g) const;
  int64_t shared_contraction_limit(const Graph<W>& g) const;
  int64_t k() const { return static_cast<int64_t>(max_block_weight_.size()); }

  std::span<const int64_t> max_block_weight_;
  Context context_;
  const Control& control_;
  RefinerChain<W> initial_refiners_;  // for initial partitions
  RefinerChain<W> refiners_;          // for the partition that is kept
  Partition<W> partition_;            // keeps its buffers from call to call
  int64_t smallest_weight_;           // of the maximum block weights
  bool relaxation_helped_ = false;
};

}  // namespace hopbytes
