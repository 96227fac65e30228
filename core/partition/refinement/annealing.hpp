// Simulated annealing of the boundaries between many small blocks.
//
// Blocks of a few hundred vertices have their shortest boundaries in shapes that local search does not reach:
// many vertices are close to a boundary, the blocks are full, and every single move on the way is a loss.
// A sweep visits all boundary vertices in their order; each may move to the block of a random neighbour, at a
// loss with a probability that falls with the temperature (Kirkpatrick, Gelatt, Vecchi 1983; Johnson, Aragon,
// McGeoch, Schevon 1989 for bisection, with the square of the imbalance as a penalty as here). The start is a
// good partition, and the temperature is low enough for the arrangement of the blocks to remain. Afterwards
// overload is removed, localised FM follows, and the result is kept if it costs less.
//
// Under distances of several sizes, gains and penalties of a move are divided by the distance between its two
// blocks, so that one temperature suits the boundaries of near blocks and those of distant ones.
#pragma once
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"

namespace hopbytes {

// Whether blocks differ in their distances, and near blocks carry so much of the cost that annealing of their
// boundaries lowers it. Where distant blocks carry nearly all of it, annealing gains a fifth of a per cent.
template <class W> bool near_blocks_matter(const Graph<W>& g, const Partition<W>& partition);

// Whether annealing suits a partition of the graph into that many blocks. Larger blocks, or few ones, would
// need far more sweeps; among tiny ones exchanges of vertices do as well.
inline bool suits_annealing(const GraphShape& g, int64_t blocks, const AnnealingContext& how) {
  return how.sweeps > 0 && blocks >= how.fewest_blocks && g.n >= how.fewest_vertices * blocks &&
         g.n <= how.most_vertices * blocks && g.arcs() > 0 && !g.linear_cost;
}

template <class W> class Annealing : public Refiner<W> {
 public:
  // With exact sizes, load below the maximum is penalised as load above it is.
  Annealing(const AnnealingContext& context, const FmContext& fm, bool exact = false)
      : context_(context), exact_(exact), fm_(fm) {}

  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

  // Makes the sweeps only. The blocks may be overloaded by a few vertices then, and may cost more.
  void anneal(Partition<W>& partition, Rng& rng, const Control& control);

 private:
  void start(const Graph<W>& g, Partition<W>& partition);
  std::vector<int64_t> weights_into_blocks(const Graph<W>& g) const;
  template <class D> int64_t sweep(const Graph<W>& g, const D& distance, double progress, Rng& rng);

  AnnealingContext context_;
  bool exact_;
  Rebalance<W> rebalance_;
  LocalFm<W> fm_;
  std::span<const int64_t> max_block_weight_;
  double mean_weight_ = 0, per_mean_load_ = 0;  // of an arc; 1 / the mean load of a vertex
  std::vector<int32_t> block_;
  std::vector<int64_t> load_;
  std::vector<int32_t> foreign_;  // number of arcs of each vertex to other blocks
  // The gain cache: weights of each vertex into all k_ blocks, row by row. k_ is 0 and the cache is empty
  // where it would have more than two entries per arc, and where blocks differ in their distances.
  int64_t k_ = 0;
  std::vector<int64_t> weight_into_;
};

}  // namespace hopbytes
