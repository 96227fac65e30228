#include "partition/exact_partitioner.hpp"

#include <algorithm>
#include <numeric>

#include "partition/group_members.hpp"
#include "partition/initial/in_order.hpp"
#include "partition/multilevel.hpp"
#include "partition/refinement/annealing.hpp"
#include "partition/refinement/even_sizes.hpp"

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
  UnsetVector<int32_t> common;
  if (other) common = common_refinement(block, other, k_, control_.team());
  const int32_t* community = other ? common.data() : block.data();
  pairs_.compare_with(refined ? &block : nullptr);
  multilevel(g, coarsening(g), community,
             start_from<W>(block, other ? refined_communities(k_) : 1, control_.team()), refiners_,
             partition_, rng, control_);
  pairs_.compare_with(nullptr);
  balance();
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
  std::vector<int64_t> load = partition_.loads();
  if (!EvenSizes().refine(g, {}, partition_.blocks(), load, size_, control_)) return before;
  partition_.blocks_were_changed();
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

// Computes several bisections and recombines the best one with the others.
template <class W>
void ExactPartitioner<W>::best_bisection(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed) {
  // On large graphs a repetition takes long, and the results differ little.
  const int64_t most = std::min<int64_t>(context_.repetitions,
                                         std::max<int64_t>(3, kMostRepeated / std::max<int64_t>(1, g.n)));
  // Repetitions are independent of each other. One thread makes them in turn, to keep two only.
  const bool side_by_side = control_.team().has_idle() && most > 1;
  std::vector<Candidate> others(side_by_side ? most : 0);
  SideBySide spans(control_, most);
  parallel_for(std::ssize(others), control_.team(), [&](int64_t r) {
    if (r > 0 && control_.should_stop()) return;
    ExactPartitioner(size_, context_, spans.of(r))
        .bisection(g, others[r].part, r == 0 ? seed : derive(seed, r));
  });
  auto repetition = [&](int64_t r) {
    Candidate found;
    if (side_by_side) {
      found = std::move(others[r]);
    } else {
      const Control own = control_;
      control_ = spans.of(r);
      bisection(g, found.part, r == 0 ? seed : derive(seed, r));
      control_ = own;
    }
    if (most > 1 && !found.part.empty()) found.score = score(g, found.part.data(), size_, control_.team());
    return found;
  };
  Candidate best = repetition(0);
  for (int64_t r = 1; r < most && !control_.should_stop(); ++r) {
    Candidate other = repetition(r);
    if (other.part.empty()) break;
    if (other.score < best.score) std::swap(best, other);
    if (r <= context_.recombinations)
      best.score = recombine(g, best.part, other.part.data(), derive(seed, 1000 + r), true);
  }
  block = std::move(best.part);
}

template <class W>
void ExactPartitioner<W>::bisection(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed) {
  Rng rng(seed);
  const StartAt<W> best_initial = [&](const Hierarchy<W>& hierarchy, Rng& numbers) {
    return Start{best_initial_bisection(hierarchy.coarsest(), numbers), true};
  };
  multilevel(g, coarsening(g), nullptr, best_initial, refiners_, partition_, rng, control_);
  balance();
  block = partition_.take_blocks();
}

// Refinement between pairs balances blocks as far as their boundaries allow. What is left needs chains of
// moves through several blocks, which leave boundaries that are worth another refinement.
template <class W> void ExactPartitioner<W>::balance() {
  const Graph<W>& g = partition_.graph();
  if (g.max_load != 1 || g.total_load != g.n) return;
  std::vector<int64_t> load = partition_.loads();
  EvenSizes().refine(g, {}, partition_.blocks(), load, size_, control_);
  if (load == partition_.loads()) return;
  partition_.blocks_were_changed();
  pairs_.attach(partition_);
  pairs_.refine_attached(partition_, control_);
}

template <class W>
std::vector<int32_t> ExactPartitioner<W>::best_initial_bisection(const Graph<W>& g, Rng& rng) {
  // A graph that was to be coarsened further is too large for several searches.
  if (control_.should_stop()) return blocks_in_order(g, size_);
  std::vector<int32_t> best;
  Score best_score;
  pairs_.start();
  partition_.assign(g, std::vector<int32_t>(g.n, 0));
  pairs_.attach(partition_);
  growing_.attach(g);
  pool_.resize(g.n);
  for (int32_t t = 0; t < context_.initial_partitions && (t == 0 || !control_.should_stop()); ++t) {
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
      if (!pairs_.improve_bisection(partition_, pool_, control_)) break;
    pairs_.refine_attached(partition_, control_);
    const Score found = pairs_.quality(partition_);
    if (found < best_score) best_score = found, best = partition_.blocks();
  }
  return best;
}

template class ExactPartitioner<int32_t>;
template class ExactPartitioner<int64_t>;

}  // namespace hopbytes
