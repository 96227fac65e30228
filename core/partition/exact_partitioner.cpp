#include "partition/exact_partitioner.hpp"

#include "partition/group_members.hpp"
#include "partition/initial/in_order.hpp"
#include "partition/multilevel.hpp"
#include "partition/refinement/annealing.hpp"
#include "partition/refinement/even_sizes.hpp"
#include "partition/refinement/pairwise_fm.hpp"

namespace hopbytes {

template <class W> bool ExactPartitioner<W>::suits(const Graph<W>& g, std::span<const int64_t> size) {
  int64_t total = 0;
  if (g.max_load != 1 || g.total_load != g.n) return false;
  for (int64_t s : size) {
    if (s < 0 || s > g.n) return false;
    total += s;
  }
  return total == g.n;
}

template <class W>
ExactPartitioner<W>::ExactPartitioner(std::span<const int64_t> size, const ExactContext& context,
                                      const Control& control)
    : k_(static_cast<int32_t>(size.size())),
      size_(size),
      context_(context),
      control_(control),
      pairs_(refiners_.add(std::make_unique<PairwiseFm<W>>(size, context))),
      partition_({}, size, control.team()) {}

template <class W>
void ExactPartitioner<W>::divide(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed) {
  // Only vertices of load 1 that fill the blocks exactly can be assigned one per block: a coarse graph may
  // contain one heavy vertex among thousands without load, and then there are far fewer blocks of size 1
  // than vertices.
  if (suits(g, size_) && *std::max_element(size_.begin(), size_.end()) <= 1)
    return one_vertex_per_block(block);
  if (k_ > 2) recursive_bisection(g, block, seed);
  else best_bisection(g, block, seed);
}

template <class W>
Score ExactPartitioner<W>::recombine(const Graph<W>& g, std::vector<int32_t>& block, const int32_t* other,
                                     uint64_t seed, bool refined) {
  const Score before = score(g, block.data(), size_, control_.team());
  if (k_ > kMostBlocks || control_.should_stop()) return before;
  Rng rng(seed);
  pairs_.compare_with(refined ? &block : nullptr);
  refine_from(g, coarsening(g), block, other, refiners_, partition_, rng, control_,
              [](const auto&, const auto&) {});
  pairs_.compare_with(nullptr);
  balance(control_);
  std::vector<int32_t> result = partition_.take_blocks();
  const Score after = score(g, result.data(), size_, control_.team());
  if (before < after) return before;
  block.swap(result);
  return after;
}

template <class W>
Score ExactPartitioner<W>::anneal(const Graph<W>& g, std::vector<int32_t>& block, const Score& before,
                                  uint64_t seed) {
  if (!suits_annealing(g, k_, context_.annealing) || before.overload > 0 || control_.should_stop())
    return before;
  Rng rng(seed);
  partition_.assign(g, block);
  Annealing<W>(context_.annealing, FmContext{}, true).anneal(partition_, rng, control_);
  if (!even_sizes(partition_, control_)) return before;
  refiners_.start();
  refiners_.refine(partition_, rng, control_);
  std::vector<int32_t> result = partition_.take_blocks();
  const Score after = score(g, result.data(), size_, control_.team());
  if (!(after < before)) return before;
  block.swap(result);
  return after;
}

template <class W> CoarseningContext ExactPartitioner<W>::coarsening(const Graph<W>& g) const {
  return coarsening_limits(g, int64_t{context_.coarsest} * k_, *std::max_element(size_.begin(), size_.end()));
}

// Assigns at most one vertex per block; every edge is cut in any case.
template <class W> void ExactPartitioner<W>::one_vertex_per_block(std::vector<int32_t>& block) const {
  block.clear();
  for (int32_t b = 0; b < k_; ++b)
    if (size_[b] == 1) block.push_back(b);
}

// Assigns half of the blocks to each side, partitions each side, then refines all pairs of blocks. (Direct
// k-way partitions of the coarsest graph were measured and were worse for the same work.)
template <class W>
void ExactPartitioner<W>::recursive_bisection(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed) {
  const size_t left = size_.size() / 2;
  const std::span<const int64_t> sizes[2] = {size_.first(left), size_.subspan(left)};
  std::vector<int64_t> sums(2, 0);
  for (int side : {0, 1})
    for (int64_t s : sizes[side]) sums[side] += s;
  std::vector<int32_t> half;
  ExactPartitioner(sums, context_, control_).divide(g, half, derive(seed, 0));
  const std::vector<int64_t> first{0, static_cast<int64_t>(left), k_};
  const auto partition_side = [&](int64_t side, const Graph<W>& sub, const Control& control,
                                  std::vector<int32_t>& inner) {
    ExactPartitioner(sizes[side], context_, control).divide(sub, inner, derive(seed, 1 + side));
  };
  block = partition_apart(g, half, first, control_, partition_side);
  Rng rng(seed);
  partition_.assign(g, std::move(block));
  refiners_.refine(partition_, rng, control_);
  block = partition_.take_blocks();
  if (context_.recombinations == 0) return;
  Score found = score(g, block.data(), size_, control_.team());
  // Stops after the first cycle without a gain, because a further cycle would differ only in its contraction.
  for (int32_t c = 0; c < context_.recombinations && !control_.should_stop(); ++c) {
    const Score before = found;
    found = recombine(g, block, nullptr, derive(seed, 3 + c), true);
    if (!(found < before)) break;
  }
}

template <class W>
void ExactPartitioner<W>::best_bisection(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed) {
  // On large graphs a repetition takes long, and the results differ little.
  const int64_t most = std::min<int64_t>(context_.repetitions,
                                         std::max<int64_t>(3, kMostRepeated / std::max<int64_t>(1, g.n)));
  std::vector<Candidate> found(most);
  SideBySide spans(control_, most);
  control_.team().run(most, [&](int32_t worker, int64_t r) {
    if (r > 0 && control_.should_stop()) return;
    const uint64_t own_seed = r == 0 ? seed : derive(seed, r);
    const Control own = spans.of(r);
    found[r].part = worker == 0  // the thread of this partitioner
                        ? bisection(g, own_seed, own)
                        : ExactPartitioner(size_, context_, own).bisection(g, own_seed, own);
    if (most > 1) found[r].score = score(g, found[r].part.data(), size_, control_.team());
  });
  Candidate& best = found[0];
  for (int64_t r = 1; r < most && !found[r].part.empty() && !control_.should_stop(); ++r) {
    if (found[r].score < best.score) std::swap(best, found[r]);
    if (r <= context_.recombinations)
      best.score = recombine(g, best.part, found[r].part.data(), derive(seed, 1000 + r), true);
  }
  block = std::move(best.part);
}

template <class W>
std::vector<int32_t> ExactPartitioner<W>::bisection(const Graph<W>& g, uint64_t seed,
                                                    const Control& control) {
  Rng rng(seed);
  const StartAt<W> best_initial = [&](const Hierarchy<W>& hierarchy, Rng& numbers) {
    return Start{best_initial_bisection(hierarchy.coarsest(), numbers, control), true};
  };
  multilevel(g, coarsening(g), nullptr, best_initial, refiners_, partition_, rng, control);
  balance(control);
  return partition_.take_blocks();
}

// Refinement between pairs balances blocks as far as their boundaries allow. What is left needs chains of
// moves through several blocks, which leave boundaries that are worth another refinement.
template <class W> void ExactPartitioner<W>::balance(const Control& control) {
  const Graph<W>& g = partition_.graph();
  if (g.max_load != 1 || g.total_load != g.n) return;
  const std::vector<int64_t> before = partition_.loads();
  even_sizes(partition_, control);
  if (partition_.loads() == before) return;
  pairs_.attach(partition_);
  pairs_.refine_attached(partition_, control);
}

template <class W>
std::vector<int32_t> ExactPartitioner<W>::best_initial_bisection(const Graph<W>& g, Rng& rng,
                                                                 const Control& control) {
  // A graph that was to be coarsened further is too large for several searches.
  if (control.should_stop()) return blocks_in_order(g, size_);
  std::vector<int32_t> best;
  Score best_score;
  pairs_.start();
  partition_.assign(g, std::vector<int32_t>(g.n, 0));
  pairs_.attach(partition_);
  growing_.attach(g);
  pool_.resize(g.n);
  for (int32_t t = 0; t < context_.initial_partitions && (t == 0 || !control.should_stop()); ++t) {
    std::fill(partition_.blocks().begin(), partition_.blocks().end(), 0);
    std::iota(pool_.begin(), pool_.end(), 0);
    rng.shuffle(pool_);
    const std::vector<int32_t>& block = partition_.blocks();
    growing_.grow(partition_.blocks(), 1, size_[1], [&, next = size_t{0}]() mutable {
      while (block[pool_[next]] != 0) ++next;
      return pool_[next++];
    });
    partition_.blocks_were_changed();
    std::iota(pool_.begin(), pool_.end(), 0);
    for (int32_t round = 0; round < 2; ++round)
      if (!pairs_.improve_bisection(partition_, pool_, control)) break;
    pairs_.refine_attached(partition_, control);
    const Score found = pairs_.quality(partition_);
    if (found < best_score) best_score = found, best = partition_.blocks();
  }
  return best;
}

template class TwoWayFm<int32_t>;
template class TwoWayFm<int64_t>;
template class ExactPartitioner<int32_t>;
template class ExactPartitioner<int64_t>;

}  // namespace hopbytes
