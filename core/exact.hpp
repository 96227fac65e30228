// Partitions of small graphs of unit loads into few blocks of exactly given sizes.
//
// The general engine (multilevel.hpp) is made for thousands of vertices and some slack; without slack its
// single moves hardly ever fit. Here the graph is coarsened once, tries are made on some dozens of
// vertices, and all refinement is between pairs of blocks, where exchanging as many vertices as one gets
// is natural. What rounding left over is carried along cheapest chains of moves through several blocks.
#pragma once
#include <bit>

#include "coarsen.hpp"
#include "initial.hpp"
#include "level_out.hpp"
#include "seam_search.hpp"

namespace hopbytes {

struct ExactOptions {
  int32_t tries = 4;      // partitions of the coarsest graph
  int32_t coarsest = 15;  // vertices per block there
  int32_t rounds = 4;     // passes over the pairs of blocks on every level
  int32_t patience = 25;  // see SeamSearch
};

template <class W> class ExactPartition {
 public:
  // More blocks than this are cut by the general engine: every pair of blocks is looked at.
  static constexpr size_t kMostBlocks = 16;
  static constexpr int64_t kMostVertices = 20'000;

  // Whether this is what it is made for: sizes that leave no choice, and few blocks.
  static bool suits(const WorkGraph<W>& g, std::span<const int64_t> size) {
    int64_t total = 0;
    if (size.size() > kMostBlocks || g.n > kMostVertices || g.max_load != 1 || g.total_load != g.n) return false;
    for (int64_t s : size) {
      if (s < 0 || s > g.n) return false;
      total += s;
    }
    return total == g.n;
  }

  ExactPartition(std::span<const int64_t> size, const ExactOptions& options, const Control& control)
      : k_(static_cast<int32_t>(size.size())), size_(size), options_(options), control_(control), load_(k_, 0),
        pair_(size, load_), seams_(size.size() * size.size()) {}

  Score partition(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    Rng rng(seed);
    auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), fewest(), max_cluster(g), rng);
    const WorkGraph<W>& coarsest = levels.empty() ? g : levels.back().graph;
    control_.spend(2 * g.arcs());
    part = best_try(coarsest, rng);
    climb(g, levels, part);
    return score(g, part.data(), size_);
  }

  // Contract what both partitions agree on (`other` may be null: what `part` holds together), start from
  // `part`, refine on the way back. Never worse than `part`.
  Score combine(const WorkGraph<W>& g, std::vector<int32_t>& part, const int32_t* other, uint64_t seed) {
    Rng rng(seed);
    std::vector<int32_t> label = part;
    if (other)
      for (int64_t v = 0; v < g.n; ++v) label[v] = part[v] * k_ + other[v];
    auto levels = coarsen(g, label.data(), fewest(), max_cluster(g), rng);
    control_.spend(2 * g.arcs());
    std::vector<int32_t> result = part;
    for (const Level<W>& level : levels) {
      std::vector<int32_t> coarse(level.graph.n);
      for (size_t v = 0; v < result.size(); ++v) coarse[level.map[v]] = result[v];
      result.swap(coarse);
    }
    if (!levels.empty()) adopt(levels.back().graph, result), count_loads(), refine();
    climb(g, levels, result);
    const Score before = score(g, part.data(), size_), after = score(g, result.data(), size_);
    if (before < after) return before;
    part.swap(result);
    return after;
  }

 private:
  int64_t fewest() const { return int64_t{options_.coarsest} * k_; }
  int64_t max_cluster(const WorkGraph<W>& g) const {
    return std::max<int64_t>(2, std::min(g.n / std::max<int64_t>(1, fewest() / 3),
                                         *std::max_element(size_.begin(), size_.end()) / 4));
  }

  std::vector<int32_t> best_try(const WorkGraph<W>& g, Rng& rng) {
    std::vector<int32_t> best, part(g.n);
    Score best_score;
    for (int32_t t = 0; t < options_.tries && (t == 0 || !control_.hurry()); ++t) {
      adopt(g, part);
      std::fill(part.begin(), part.end(), 0);
      bisect(0, k_, g.total_load, rng);
      refine();
      const Score found = here();
      if (found < best_score) best_score = found, best = part;
    }
    return best;
  }

  // Split the block called `first`, which holds everything of blocks first .. first + count - 1.
  void bisect(int32_t first, int32_t count, int64_t total, Rng& rng) {
    if (count < 2) return;
    const int32_t left = count / 2, middle = first + left;
    int64_t here = 0;
    for (int32_t b = first; b < middle; ++b) here += size_[b];
    // While it is split, a block's target is the sum of the sizes it stands for.
    target_.assign(size_.begin(), size_.end());
    target_[first] = here;
    target_[middle] = total - here;
    grow(first, middle, total - here, rng);
    count_loads();
    SeamSearch<W> search(target_, load_);
    search.adopt(*g_, part_->data());
    std::vector<int32_t> seeds;
    for (int32_t round = 0; round < 2; ++round) {
      seeds.clear();
      for (int32_t v = 0; v < g_->n; ++v)
        if ((*part_)[v] == first || (*part_)[v] == middle) seeds.push_back(v);
      int64_t gain = 0;
      if (!search.improve(first, middle, seeds, limits(), gain)) break;
    }
    bisect(first, left, here, rng);
    bisect(middle, count - left, total - here, rng);
  }

  // Grow block `to` out of `from`, from a random vertex, by the strongest tie less what it leaves.
  void grow(int32_t from, int32_t to, int64_t target, Rng& rng) {
    std::vector<int32_t>& part = *part_;
    heap_.resize(g_->n);
    pool_.clear();
    for (int32_t v = 0; v < g_->n; ++v)
      if (part[v] == from) pool_.push_back(v);
    rng.shuffle(pool_);
    int64_t grown = 0;
    size_t next = 0;
    while (grown < target) {
      if (heap_.empty()) {
        while (next < pool_.size() && part[pool_[next]] != from) ++next;
        if (next == pool_.size()) break;
        heap_.push(pool_[next++], 0);
      }
      const int32_t v = heap_.top();
      heap_.pop();
      if (grown + g_->load[v] - target > target - grown && grown > 0) {
        if (heap_.empty()) break;
        continue;
      }
      part[v] = to;
      grown += g_->load[v];
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        if (part[u] != from) continue;
        if (heap_.contains(u)) {
          heap_.change(u, heap_.key(u) + 2 * int64_t{g_->weight[e]});
          continue;
        }
        int64_t key = 0;
        for (int64_t f = g_->start[u]; f < g_->start[u + 1]; ++f) {
          if (part[g_->adj[f]] == from) key -= g_->weight[f];
          else if (part[g_->adj[f]] == to) key += g_->weight[f];
        }
        heap_.push(u, key);
      }
    }
    heap_.clear();
  }

  // Back to the given graph, refining on every level.
  void climb(const WorkGraph<W>& g, const std::vector<Level<W>>& levels, std::vector<int32_t>& part) {
    for (size_t i = levels.size(); i-- > 0;) {
      const WorkGraph<W>& fine = i == 0 ? g : levels[i - 1].graph;
      std::vector<int32_t> next(fine.n);
      for (int64_t v = 0; v < fine.n; ++v) next[v] = part[levels[i].map[v]];
      part.swap(next);
      adopt(fine, part);
      count_loads();
      refine();
    }
    if (levels.empty()) adopt(g, part), count_loads(), refine();
    // Seams level out what they can; what is left goes along chains, which bend seams again.
    if (level_out(g, part.data(), load_, size_, control_)) refine();
  }

  void adopt(const WorkGraph<W>& g, std::vector<int32_t>& part) {
    g_ = &g, part_ = &part;
    pair_.adopt(g, part.data());
  }

  void count_loads() {
    std::fill(load_.begin(), load_.end(), 0);
    for (int64_t v = 0; v < g_->n; ++v) load_[(*part_)[v]] += g_->load[v];
  }

  Score here() const {
    Score s{0, edge_cut(*g_, part_->data())};
    for (int32_t b = 0; b < k_; ++b) s.overload += std::max<int64_t>(0, load_[b] - size_[b] - allowed());
    return s;
  }

  int64_t allowed() const { return g_->max_load == 1 ? 0 : g_->max_load; }

  typename SeamSearch<W>::Limits limits() const {
    typename SeamSearch<W>::Limits limits;
    // No more than one vertex more or less: wider windows were measured, and worse.
    limits.window = g_->max_load;
    limits.allowed = allowed();
    limits.patience = g_->max_load == 1 ? options_.patience * 3 / 5 : options_.patience;
    return limits;
  }

  // Pairs of blocks with a seam between them, until none gains.
  void refine() {
    active_.assign(k_, 1);
    for (int32_t round = 0; round < options_.rounds && !control_.hurry(); ++round) {
      find_seams();
      std::vector<uint8_t> next(k_, 0);
      for (int32_t a = 0; a < k_; ++a)
        for (int32_t b = a + 1; b < k_; ++b) {
          const std::vector<int32_t>& seam = seams_[a * k_ + b];
          if (seam.empty() || !(active_[a] || active_[b])) continue;
          int64_t gain = 0;
          if (pair_.improve(a, b, seam, limits(), gain)) next[a] = next[b] = 1;
          control_.spend(pair_.looked_at());
        }
      active_.swap(next);
      if (std::find(active_.begin(), active_.end(), 1) == active_.end()) break;
    }
  }

  void find_seams() {
    for (auto& seam : seams_) seam.clear();
    const std::vector<int32_t>& part = *part_;
    for (int32_t v = 0; v < g_->n; ++v) {
      uint32_t seen = 1u << part[v];
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) seen |= 1u << part[g_->adj[e]];
      seen &= ~(1u << part[v]);
      for (; seen; seen &= seen - 1) {
        const int32_t other = std::countr_zero(seen);
        seams_[std::min(part[v], other) * k_ + std::max(part[v], other)].push_back(v);
      }
    }
    control_.spend(g_->arcs());
  }

  int32_t k_;
  std::span<const int64_t> size_;
  ExactOptions options_;
  const Control& control_;
  std::vector<int64_t> load_;
  SeamSearch<W> pair_;
  std::vector<std::vector<int32_t>> seams_;  // vertices of blocks a < b that touch the other one
  const WorkGraph<W>* g_ = nullptr;
  std::vector<int32_t>* part_ = nullptr;
  std::vector<int64_t> target_;
  std::vector<int32_t> pool_;
  std::vector<uint8_t> active_;
  VertexHeap heap_;
};

}  // namespace hopbytes
