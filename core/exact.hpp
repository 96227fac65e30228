// Partitions of graphs with unit loads into blocks of exactly given sizes.
//
// The general engine (multilevel.hpp) needs some slack: without it, moves of single vertices hardly ever fit.
// This engine coarsens the graph once, computes several initial partitions of the coarsest graph, and refines
// by two-way FM between pairs of blocks, which exchanges equal numbers of vertices. More than two blocks are
// computed by recursive bisection.
#pragma once
#include "coarsen.hpp"
#include "initial.hpp"
#include "balance_exactly.hpp"
#include "pairwise_fm.hpp"

namespace hopbytes {

struct ExactOptions {
  int32_t initial_partitions = 4;  // initial partitions of the coarsest graph
  int32_t repetitions = 1;  // bisections per cut in two, each from its own coarsening; the best one is kept
  // recombinations of the best bisection with the others; V-cycles after a recursive bisection
  int32_t recombinations = 0;
  int32_t coarsest = 15;  // vertices per block of the coarsest graph
  int32_t rounds = 4;  // passes over the pairs of blocks on every level
  int32_t fruitless_moves = 25;  // moves without a new best that end a search, see TwoWayFm
};

template <class W> class ExactPartition {
 public:
  // With more blocks than this there is no recombination, because balance_exactly() would examine too many
  // paths.
  static constexpr int32_t kMostBlocks = PairwiseFm<W>::kFewBlocks;
  // If vertices times repetitions exceed this, a bisection is repeated at most three times.
  static constexpr int64_t kMostRepeated = int64_t{1} << 18;

  // Returns whether this engine applies: unit loads, and block sizes that add up to the number of vertices.
  static bool suits(const WorkGraph<W>& g, std::span<const int64_t> size) {
    int64_t total = 0;
    if (g.max_load != 1 || g.total_load != g.n) return false;
    for (int64_t s : size) {
      if (s < 0 || s > g.n) return false;
      total += s;
    }
    return total == g.n;
  }

  ExactPartition(std::span<const int64_t> size, const ExactOptions& options, const Control& control)
      : k_(static_cast<int32_t>(size.size())), size_(size), options_(options), control_(control),
        pairs_(size, options.rounds, options.fruitless_moves, control) {}

  Score partition(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    // Only vertices of load 1 that fill the blocks exactly can be assigned one per block: a coarse graph may
    // contain one heavy vertex among thousands without load, and then there are far fewer blocks of size 1
    // than vertices.
    if (suits(g, size_) && *std::max_element(size_.begin(), size_.end()) <= 1)
      return one_vertex_per_block(g, part);
    return k_ > 2 ? recursive_bisection(g, part, seed) : best_bisection(g, part, seed);
  }

  // Contracts vertices that are together in both partitions (in `part` if `other` is null), starts from
  // `part` and refines during uncoarsening. The result is never worse than `part`. `refined` means that
  // `part` was computed by this engine, so that on the finest graph only blocks that have changed are
  // searched again.
  Score recombine(const WorkGraph<W>& g, std::vector<int32_t>& part, const int32_t* other, uint64_t seed,
                bool refined = false) {
    if (k_ > kMostBlocks) return score(g, part.data(), size_);
    Rng rng(seed);
    std::vector<int32_t> label = part;
    if (other)
      for (int64_t v = 0; v < g.n; ++v) label[v] = part[v] * k_ + other[v];
    auto levels = coarsen(g, label.data(), contraction_limit(), max_cluster_load(g), rng);
    control_.record_work(2 * g.arcs());
    std::vector<int32_t> result = part;
    for (const Level<W>& level : levels) {
      std::vector<int32_t> coarse(level.graph.n);
      for (size_t v = 0; v < result.size(); ++v) coarse[level.map[v]] = result[v];
      result.swap(coarse);
    }
    if (!levels.empty()) pairs_.attach(levels.back().graph, result), pairs_.count_loads(), pairs_.refine();
    uncoarsen(g, levels, result, refined ? part.data() : nullptr);
    const Score before = score(g, part.data(), size_), after = score(g, result.data(), size_);
    if (before < after) return before;
    part.swap(result);
    return after;
  }

 private:
  int64_t contraction_limit() const { return int64_t{options_.coarsest} * k_; }
  int64_t max_cluster_load(const WorkGraph<W>& g) const {
    return std::max(average_pair(g), std::min(g.total_load / std::max<int64_t>(1, contraction_limit() / 3),
                                         *std::max_element(size_.begin(), size_.end()) / 4));
  }

  // Assigns at most one vertex per block; every edge is cut in any case.
  Score one_vertex_per_block(const WorkGraph<W>& g, std::vector<int32_t>& part) {
    part.clear();
    for (int32_t b = 0; b < k_; ++b)
      if (size_[b] == 1) part.push_back(b);
    return score(g, part.data(), size_);
  }

  // Recursive bisection: assigns half of the blocks to each side, partitions each side, then refines all
  // pairs of blocks. (Direct k-way partitions of the coarsest graph were measured and were worse for the same
  // work.)
  Score recursive_bisection(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    const size_t left = size_.size() / 2;
    const std::span<const int64_t> sizes[2] = {size_.first(left), size_.subspan(left)};
    std::vector<int64_t> sums(2, 0);
    for (int side : {0, 1})
      for (int64_t s : sizes[side]) sums[side] += s;
    std::vector<int32_t> half, members, local(g.n), inner;
    ExactPartition(sums, options_, control_).partition(g, half, derive(seed, 0));
    part.assign(g.n, 0);
    for (int side : {0, 1}) {
      members.clear();
      for (int32_t v = 0; v < g.n; ++v)
        if (half[v] == side) local[v] = static_cast<int32_t>(members.size()), members.push_back(v);
      inner.assign(members.size(), 0);
      if (sizes[side].size() > 1 && !members.empty()) {
        const WorkGraph<W> sub =
            induced(g, std::span<const int32_t>(members), half.data(), side, local.data());
        ExactPartition(sizes[side], options_, control_).partition(sub, inner, derive(seed, 1 + side));
      }
      for (size_t m = 0; m < members.size(); ++m)
        part[members[m]] = inner[m] + (side == 0 ? 0 : static_cast<int32_t>(left));
    }
    pairs_.attach(g, part);
    pairs_.count_loads();
    pairs_.refine();
    Score found = score(g, part.data(), size_);
    // Stops after the first cycle without a gain, because a further cycle would differ only in its
    // contraction.
    for (int32_t c = 0; c < options_.recombinations && !control_.should_stop(); ++c) {
      const Score before = found;
      found = recombine(g, part, nullptr, derive(seed, 3 + c), true);
      if (!(found < before)) break;
    }
    return found;
  }

  // Computes several bisections and recombines the best one with the others.
  Score best_bisection(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    Score best = bisection(g, part, seed);
    std::vector<int32_t> other;
    // On large graphs a repetition takes long, and the results differ little.
    const int64_t most = std::min<int64_t>(options_.repetitions,
                                           std::max<int64_t>(3, kMostRepeated / std::max<int64_t>(1, g.n)));
    for (int32_t r = 1; r < most && !control_.should_stop(); ++r) {
      const Score found = bisection(g, other, derive(seed, r));
      if (found < best) best = found, part.swap(other);
      if (r <= options_.recombinations) best = recombine(g, part, other.data(), derive(seed, 1000 + r), true);
    }
    return best;
  }

  Score bisection(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    Rng rng(seed);
    auto levels =
        coarsen(g, static_cast<const int32_t*>(nullptr), contraction_limit(), max_cluster_load(g), rng);
    const WorkGraph<W>& coarsest = levels.empty() ? g : levels.back().graph;
    control_.record_work(2 * g.arcs());
    part = best_initial_partition(coarsest, rng);
    uncoarsen(g, levels, part);
    return score(g, part.data(), size_);
  }

  std::vector<int32_t> best_initial_partition(const WorkGraph<W>& g, Rng& rng) {
    std::vector<int32_t> best, part(g.n);
    Score best_score;
    pairs_.attach(g, part);
    for (int32_t t = 0; t < options_.initial_partitions && (t == 0 || !control_.should_stop()); ++t) {
      std::fill(part.begin(), part.end(), 0);
      grow_bisection(g, part, rng);
      pairs_.refine();
      const Score found = pairs_.quality();
      if (found < best_score) best_score = found, best = part;
    }
    return best;
  }

  // Bisects a graph whose vertices are all in block 0 by growing block 1.
  void grow_bisection(const WorkGraph<W>& g, std::vector<int32_t>& part, Rng& rng) {
    grow(g, part, size_[1], rng);
    pairs_.count_loads();
    pool_.resize(g.n);
    std::iota(pool_.begin(), pool_.end(), 0);
    for (int32_t round = 0; round < 2; ++round)
      if (!pairs_.improve(0, 1, pool_)) break;
  }

  // Greedy graph growing: grows block 1 out of block 0, starting at a random vertex. The next vertex is the
  // one with the largest difference of its weight to block 1 and its weight to block 0.
  void grow(const WorkGraph<W>& g, std::vector<int32_t>& part, int64_t target, Rng& rng) {
    heap_.resize(g.n);
    pool_.clear();
    for (int32_t v = 0; v < g.n; ++v)
      if (part[v] == 0) pool_.push_back(v);
    rng.shuffle(pool_);
    int64_t grown = 0;
    size_t next = 0;
    while (grown < target) {
      if (heap_.empty()) {
        while (next < pool_.size() && part[pool_[next]] != 0) ++next;
        if (next == pool_.size()) break;
        heap_.push(pool_[next++], 0);
      }
      const int32_t v = heap_.top();
      heap_.pop();
      if (grown + g.load[v] - target > target - grown && grown > 0) {
        if (heap_.empty()) break;
        continue;
      }
      part[v] = 1;
      grown += g.load[v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t u = g.adj[e];
        if (part[u] != 0) continue;
        if (heap_.contains(u)) {
          heap_.change(u, heap_.key(u) + 2 * int64_t{g.weight[e]});
          continue;
        }
        int64_t key = 0;
        for (int64_t f = g.start[u]; f < g.start[u + 1]; ++f) {
          if (part[g.adj[f]] == 0) key -= g.weight[f];
          else if (part[g.adj[f]] == 1) key += g.weight[f];
        }
        heap_.push(u, key);
      }
    }
    heap_.clear();
  }

  // Projects the partition back to the given graph and refines it on every level. On the finest level only
  // blocks that differ from `refined` are searched (null: all of them).
  void uncoarsen(const WorkGraph<W>& g, const std::vector<Level<W>>& levels, std::vector<int32_t>& part,
             const int32_t* refined = nullptr) {
    for (size_t i = levels.size(); i-- > 0;) {
      const WorkGraph<W>& fine = i == 0 ? g : levels[i - 1].graph;
      std::vector<int32_t> next(fine.n);
      for (int64_t v = 0; v < fine.n; ++v) next[v] = part[levels[i].map[v]];
      part.swap(next);
      pairs_.attach(fine, part);
      pairs_.count_loads();
      pairs_.refine(i == 0 ? refined : nullptr);
    }
    if (levels.empty()) pairs_.attach(g, part), pairs_.count_loads(), pairs_.refine();
    // Refinement between pairs balances blocks as far as their boundaries allow. What is left needs chains of
    // moves through several blocks, which leave boundaries that are worth another refinement.
    const bool unit = g.max_load == 1 && g.total_load == g.n;
    if (unit && balance_exactly(g, part.data(), pairs_.loads(), size_, control_)) pairs_.refine();
  }

  int32_t k_;
  std::span<const int64_t> size_;
  ExactOptions options_;
  const Control& control_;
  PairwiseFm<W> pairs_;
  std::vector<int32_t> pool_;
  VertexHeap heap_;
};

}  // namespace hopbytes
