// Partitions of graphs with unit loads into blocks of exactly given sizes.
//
// The general engine (multilevel.hpp) needs some slack: without it, moves of single vertices hardly ever fit.
// This engine coarsens the graph once, computes several initial partitions of the coarsest graph, and refines
// by two-way FM between pairs of blocks, which exchanges equal numbers of vertices. More than two blocks are
// computed by recursive bisection.
#pragma once
#include "coarsen.hpp"
#include "initial.hpp"
#include "level_out.hpp"
#include "seam_search.hpp"

namespace hopbytes {

struct ExactOptions {
  int32_t tries = 4;  // initial partitions of the coarsest graph
  int32_t runs = 1;  // bisections per cut in two, each from its own coarsening; the best one is kept
  // recombinations of the best bisection with the others; V-cycles after a recursive bisection
  int32_t combines = 0;
  int32_t coarsest = 15;  // vertices per block of the coarsest graph
  int32_t rounds = 4;  // passes over the pairs of blocks on every level
  int32_t patience = 25;  // moves without a new best that end a search, see TwoWayFm
};

template <class W> class ExactPartition {
 public:
  // With more blocks than this there is no recombination, because balance_exactly() would examine too many
  // paths.
  static constexpr int32_t kMostBlocks = 64;
  // If vertices times repetitions exceed this, a bisection is repeated at most three times.
  static constexpr int64_t kMostTried = int64_t{1} << 18;

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
      : k_(static_cast<int32_t>(size.size())), size_(size), options_(options), control_(control), load_(k_, 0),
        pair_(size, load_) {}

  Score partition(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    // Only vertices of load 1 that fill the blocks exactly can be assigned one per block: a coarse graph may
    // contain one heavy vertex among thousands without load, and then there are far fewer blocks of size 1
    // than vertices.
    if (suits(g, size_) && *std::max_element(size_.begin(), size_.end()) <= 1) return one_each(g, part);
    return k_ > 2 ? in_halves(g, part, seed) : best_run(g, part, seed);
  }

  // Contracts what both partitions agree on (only `part` if `other` is null), starts from `part` and refines
  // during uncoarsening. The result is never worse than `part`. `refined` says that `part` was computed by
  // this engine, so that on the finest graph only blocks that have changed are searched again.
  Score combine(const WorkGraph<W>& g, std::vector<int32_t>& part, const int32_t* other, uint64_t seed,
                bool refined = false) {
    if (k_ > kMostBlocks) return score(g, part.data(), size_);
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
    climb(g, levels, result, refined ? part.data() : nullptr);
    const Score before = score(g, part.data(), size_), after = score(g, result.data(), size_);
    if (before < after) return before;
    part.swap(result);
    return after;
  }

 private:
  int64_t fewest() const { return int64_t{options_.coarsest} * k_; }
  int64_t max_cluster(const WorkGraph<W>& g) const {
    return std::max(average_pair(g), std::min(g.total_load / std::max<int64_t>(1, fewest() / 3),
                                         *std::max_element(size_.begin(), size_.end()) / 4));
  }

  // Assigns at most one vertex per block; every edge is cut in any case.
  Score one_each(const WorkGraph<W>& g, std::vector<int32_t>& part) {
    part.clear();
    for (int32_t b = 0; b < k_; ++b)
      if (size_[b] == 1) part.push_back(b);
    return score(g, part.data(), size_);
  }

  // Recursive bisection: assigns half of the blocks to each side, partitions each side, then refines all
  // pairs of blocks. (Direct k-way partitions of the coarsest graph were measured and were worse for the same
  // work.)
  Score in_halves(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
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
        const WorkGraph<W> sub = induced(g, std::span<const int32_t>(members), half.data(), side, local.data());
        ExactPartition(sizes[side], options_, control_).partition(sub, inner, derive(seed, 1 + side));
      }
      for (size_t m = 0; m < members.size(); ++m)
        part[members[m]] = inner[m] + (side == 0 ? 0 : static_cast<int32_t>(left));
    }
    adopt(g, part);
    count_loads();
    refine();
    Score found = score(g, part.data(), size_);
    // Stops after the first cycle without a gain, because a further cycle would differ only in its
    // contraction.
    for (int32_t c = 0; c < options_.combines && !control_.hurry(); ++c) {
      const Score before = found;
      found = combine(g, part, nullptr, derive(seed, 3 + c), true);
      if (!(found < before)) break;
    }
    return found;
  }

  // Computes several bisections and recombines the best one with the others.
  Score best_run(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    Score best = run(g, part, seed);
    std::vector<int32_t> other;
    // On large graphs a repetition takes long, and the results differ little.
    const int64_t most = std::min<int64_t>(options_.runs, std::max<int64_t>(3, kMostTried / std::max<int64_t>(1, g.n)));
    for (int32_t r = 1; r < most && !control_.hurry(); ++r) {
      const Score found = run(g, other, derive(seed, r));
      if (found < best) best = found, part.swap(other);
      if (r <= options_.combines) best = combine(g, part, other.data(), derive(seed, 1000 + r), true);
    }
    return best;
  }

  Score run(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    Rng rng(seed);
    auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), fewest(), max_cluster(g), rng);
    const WorkGraph<W>& coarsest = levels.empty() ? g : levels.back().graph;
    control_.spend(2 * g.arcs());
    part = best_try(coarsest, rng);
    climb(g, levels, part);
    return score(g, part.data(), size_);
  }

  std::vector<int32_t> best_try(const WorkGraph<W>& g, Rng& rng) {
    std::vector<int32_t> best, part(g.n);
    Score best_score;
    adopt(g, part);
    for (int32_t t = 0; t < options_.tries && (t == 0 || !control_.hurry()); ++t) {
      std::fill(part.begin(), part.end(), 0);
      bisect(rng);
      refine();
      const Score found = here();
      if (found < best_score) best_score = found, best = part;
    }
    return best;
  }

  // Bisects a graph whose vertices are all in block 0 by growing block 1.
  void bisect(Rng& rng) {
    grow(0, 1, size_[1], rng);
    count_loads();
    pool_.resize(g_->n);
    std::iota(pool_.begin(), pool_.end(), 0);
    int64_t gain = 0;
    for (int32_t round = 0; round < 2; ++round)
      if (!pair_.improve(0, 1, pool_, limits(), gain)) break;
  }

  // Greedy graph growing: grows block `to` out of `from`, starting at a random vertex. The next vertex is the
  // one with the largest difference of its weight to `to` and its weight to `from`.
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

  // Projects the partition back to the given graph and refines it on every level. On the finest level only
  // blocks that differ from `refined` are searched (null: all of them).
  void climb(const WorkGraph<W>& g, const std::vector<Level<W>>& levels, std::vector<int32_t>& part,
             const int32_t* refined = nullptr) {
    for (size_t i = levels.size(); i-- > 0;) {
      const WorkGraph<W>& fine = i == 0 ? g : levels[i - 1].graph;
      std::vector<int32_t> next(fine.n);
      for (int64_t v = 0; v < fine.n; ++v) next[v] = part[levels[i].map[v]];
      part.swap(next);
      adopt(fine, part);
      count_loads();
      refine(i == 0 ? refined : nullptr);
    }
    if (levels.empty()) adopt(g, part), count_loads(), refine();
    // Refinement between pairs balances blocks as far as their boundaries allow. What is left needs chains of
    // moves through several blocks, which leave boundaries that are worth another refinement.
    const bool unit = g.max_load == 1 && g.total_load == g.n;
    if (unit && level_out(g, part.data(), load_, size_, control_)) refine();
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
    // The window is one vertex: wider windows were measured and were worse.
    limits.window = g_->max_load;
    limits.allowed = allowed();
    limits.patience = g_->max_load == 1 ? options_.patience * 3 / 5 : options_.patience;
    return limits;
  }

  // Refines pairs of adjacent blocks until no pair gains. After the first round it searches only pairs with a
  // boundary vertex that moved in the previous round or has a neighbour that did: all other searches would
  // repeat themselves. With `refined` the first round, too, searches only what differs from that partition.
  void refine(const int32_t* refined = nullptr) {
    active_.assign(k_, refined ? 0 : 1);
    if (static_cast<int64_t>(changed_.size()) < g_->n) changed_.resize(g_->n, 0);
    ++turn_;
    for (int32_t v = 0; refined && v < g_->n; ++v)
      if ((*part_)[v] != refined[v]) active_[(*part_)[v]] = active_[refined[v]] = 1, mark(v);
    std::vector<int32_t> seam;
    for (int32_t round = 0; round < options_.rounds && !control_.hurry(); ++round) {
      if (std::find(active_.begin(), active_.end(), 1) == active_.end()) break;
      find_seams();
      std::vector<uint8_t> next(k_, 0);
      const int32_t before = turn_++;
      for (size_t begin = 0, end = 0; begin < seams_.size(); begin = end) {
        const auto a = static_cast<int32_t>(seams_[begin].pair / k_), b = static_cast<int32_t>(seams_[begin].pair % k_);
        seam.clear();
        bool differs = round == 0 && !refined;
        for (; end < seams_.size() && seams_[end].pair == seams_[begin].pair; ++end) {
          seam.push_back(seams_[end].vertex);
          differs |= changed_[seam.back()] >= before;
        }
        int64_t gain = 0;
        if (!differs) continue;
        if (pair_.improve(a, b, seam, limits(), gain)) {
          next[a] = next[b] = 1;
          for (const int32_t v : pair_.moved()) mark(v);
        }
        control_.spend(pair_.looked_at());
      }
      active_.swap(next);
    }
  }

  // Records that v and its neighbourhood have changed.
  void mark(int32_t v) {
    changed_[v] = turn_;
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) changed_[g_->adj[e]] = turn_;
  }

  // Lists the boundary vertices of every pair of blocks with an active block, pair by pair.
  void find_seams() {
    seams_.clear();
    control_.spend(g_->arcs());
    if (k_ == 2) return find_one_seam();
    const std::vector<int32_t>& part = *part_;
    std::vector<int32_t> last(k_, -1);  // the vertex entered last for each block
    for (int32_t v = 0; v < g_->n; ++v) {
      const int32_t own = part[v];
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t other = part[g_->adj[e]];
        if (other == own || last[other] == v || !(active_[own] || active_[other])) continue;
        last[other] = v;
        seams_.push_back({int64_t{std::min(own, other)} * k_ + std::max(own, other), v});
      }
    }
    if (k_ <= kMostBlocks) sort_few();
    else
      std::stable_sort(seams_.begin(), seams_.end(),
                       [](const Contact& x, const Contact& y) { return x.pair < y.pair; });
  }

  // With two blocks, one neighbour in the other block suffices to recognise a boundary vertex.
  void find_one_seam() {
    const int32_t* part = part_->data();
    for (int32_t v = 0; v < g_->n; ++v)
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
        if (part[g_->adj[e]] != part[v]) {
          seams_.push_back({1, v});
          break;
        }
  }

  // A counting sort, because this function runs thousands of times per second.
  void sort_few() {
    std::vector<int32_t> place(static_cast<size_t>(k_) * k_ + 1, 0);
    for (const Contact& c : seams_) ++place[c.pair + 1];
    for (size_t p = 1; p < place.size(); ++p) place[p] += place[p - 1];
    sorted_.resize(seams_.size());
    for (const Contact& c : seams_) sorted_[place[c.pair]++] = c;
    seams_.swap(sorted_);
  }

  struct Contact {
    int64_t pair;  // a * k + b for blocks a < b
    int32_t vertex;
  };

  int32_t k_;
  std::span<const int64_t> size_;
  ExactOptions options_;
  const Control& control_;
  std::vector<int64_t> load_;
  SeamSearch<W> pair_;
  std::vector<Contact> seams_, sorted_;
  const WorkGraph<W>* g_ = nullptr;
  std::vector<int32_t>* part_ = nullptr;
  std::vector<int32_t> pool_;
  std::vector<uint8_t> active_;
  std::vector<int32_t> changed_;  // the round in which a vertex or one of its neighbours moved last
  int32_t turn_ = 0;
  VertexHeap heap_;
};

}  // namespace hopbytes
