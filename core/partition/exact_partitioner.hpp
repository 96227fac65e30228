// Partitions of graphs with unit loads into blocks of exactly given sizes.
//
// The general partitioner (partitioner.hpp) needs some slack: without it, moves of single vertices hardly
// ever fit. This one coarsens the graph once, computes several initial partitions of the coarsest graph, and
// refines by two-way FM between pairs of blocks, which exchanges equal numbers of vertices. More than two
// blocks are computed by recursive bisection.
#pragma once
#include "partition/initial/graph_growing.hpp"
#include "partition/refinement/refiner.hpp"
#include "partition/score.hpp"

namespace hopbytes {

template <class W> class PairwiseFm;

template <class W> class ExactPartitioner {
 public:
  // With more blocks than this there is no recombination, because chains of moves between all pairs of them
  // took too long when every pair was looked at.
  static constexpr int32_t kMostBlocks = 64;

  // Returns whether this partitioner applies: unit loads, and block sizes that add up to the number of
  // vertices.
  static bool suits(const Graph<W>& g, std::span<const int64_t> size);

  // The sizes are kept by reference.
  ExactPartitioner(std::span<const int64_t> size, const ExactContext& context, const Control& control);

  // Makes one partition, however many repetitions are asked for: each bisection has its own. No shapes are
  // relaxed.
  Score repeat(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t, int64_t) {
    divide(g, block, seed);
    return score(g, block.data(), size_, control_.team());
  }
  bool relaxation_helped() const { return false; }
  // The same without the quality.
  void divide(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed);

  // Contracts vertices that are together in both partitions (in `block` if `other` is null), starts from
  // `block` and refines during uncoarsening. The result is never worse than `block`. `refined` means that
  // `block` was computed by this partitioner, so that on the finest graph only blocks that have changed are
  // searched again.
  Score recombine(const Graph<W>& g, std::vector<int32_t>& block, const int32_t* other, uint64_t seed,
                  bool refined = false);

  // Anneals the boundaries of many small blocks, gives the blocks their sizes again and refines them. The
  // result is never worse than `block`.
  Score anneal(const Graph<W>& g, std::vector<int32_t>& block, const Score& before, uint64_t seed);

 private:
  // If vertices times repetitions exceed this, a bisection is repeated at most three times.
  static constexpr int64_t kMostRepeated = int64_t{1} << 18;

  void one_vertex_per_block(std::vector<int32_t>& block) const;
  void recursive_bisection(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed);
  void best_bisection(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed);
  std::vector<int32_t> bisection(const Graph<W>& g, uint64_t seed, const Control& control);
  std::vector<int32_t> best_initial_bisection(const Graph<W>& g, Rng& rng, const Control& control);
  void balance(const Control& control);
  CoarseningContext coarsening(const Graph<W>& g) const;

  int32_t k_;
  std::span<const int64_t> size_;
  ExactContext context_;
  const Control& control_;
  RefinerChain<W> refiners_;
  PairwiseFm<W>& pairs_;    // the only refiner of the chain
  Partition<W> partition_;  // keeps its buffers from call to call
  std::vector<int32_t> pool_;
  GraphGrowing<W> growing_;
};

}  // namespace hopbytes
