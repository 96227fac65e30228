// Two-way FM: local search between two blocks by edge cut, which keeps the loads of both near their targets.
//
// Starting from the boundary between the two blocks, vertices move one by one, the largest gain first even if
// it is negative, and each vertex at most once. The best state is kept (Fiduccia, Mattheyses 1982): balance
// counts first, up to an allowed imbalance, then the cut, and among equal cuts the balance again. Inside a
// search a block may deviate from its target by `window`, so that parts of the boundary can move as a whole.
// With exact targets and unit loads the result is an exchange of equal numbers of vertices. The gains of the
// vertices that a search starts from are most of its work. They are computed by ranges, and those of vertices
// of high degree from a gain cache, which follows the moves that a search keeps.
#pragma once
#include <limits>

#include "util/bucket_queue.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

template <class W> class TwoWayFm {
 public:
  // Targets and loads have an entry per block and are kept by reference.
  TwoWayFm(std::span<const int64_t> target, std::vector<int64_t>& load)
      : target_(target), load_(load), sign_(load.size(), 0) {}

  // `bias` (may be null) is what each vertex costs more in the second block of a pair than in the first.
  void attach(const Graph<W>& g, int32_t* part, const int64_t* bias = nullptr) {
    g_ = &g, part_ = part, bias_ = bias;
    int64_t strongest = 0;
    for (int64_t v = 0; v < g.n; ++v) {
      int64_t degree = bias ? std::abs(bias[v]) : 0;
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) degree += g.weight[e];
      strongest = std::max(strongest, degree);
    }
    queue_[0].prepare(g.n, strongest);
    queue_[1].prepare(g.n, strongest);
    row_.resize(g.n);
    rows_ = 0;
    for (int64_t v = 0; v < g.n; ++v)
      row_[v] = g.degree(v) >= std::max<int64_t>(kLeastDegree, 2 * std::ssize(target_)) ? rows_++ : -1;
    if (static_cast<int64_t>(locked_.size()) < g.n) locked_.resize(g.n, 0);
  }

  // Fills the gain cache; necessary after attach() and after others have assigned blocks.
  void weigh_blocks() {
    const size_t k = target_.size();
    weight_into_.assign(rows_ * k, 0);
    for (int64_t v = 0; rows_ > 0 && v < g_->n; ++v)
      for (int64_t e = g_->start[v]; row_[v] >= 0 && e < g_->start[v + 1]; ++e)
        weight_into_[row_[v] * k + part_[g_->adj[e]]] += g_->weight[e];
  }
  // The weight of a vertex into each block; empty if its arcs have to be scanned.
  std::span<const int64_t> weights_of(int32_t v) const {
    const size_t k = target_.size();
    return row_[v] < 0 ? std::span<const int64_t>() : std::span(weight_into_.data() + row_[v] * k, k);
  }

  // Makes the searches that follow independent of those before, see choose().
  void forget_searches() { search_ += side_of_ties(); }

  struct Limits {
    int64_t window = 1;  // permitted deviation of a block from its target inside a search
    int64_t allowed_imbalance = 0;  // sum of the deviations of both blocks that counts as balanced
    int32_t fruitless_moves = 40;  // moves without a new best that end a search
  };

  // Searches between the blocks a and b from some of their vertices. Returns whether the state became better:
  // a smaller imbalance, or the same imbalance and a smaller cut. `gain` is the decrease of the cut.
  bool improve(int32_t a, int32_t b, std::span<const int32_t> seeds, const Limits& limits, Team& team,
               int64_t& gain) {
    block_[0] = a, block_[1] = b;
    ++search_;
    scanned_edges_ = span_ = 0;
    sign_[a] = -1, sign_[b] = 1;
    consider_all(seeds, team);
    log_.clear();
    const int64_t first_excess = excess_imbalance(limits), first_imbalance = imbalance();
    int64_t now = 0, best = 0, best_excess = first_excess, best_imbalance = first_imbalance;
    size_t best_length = 0;
    int32_t fruitless = 0;
    while (fruitless <= limits.fruitless_moves) {
      const int side = choose(limits);
      if (side < 0) break;
      const int32_t v = top_[side];
      now += queue_[side].key(v);
      queue_[side].remove(v);
      move(v, side);
      log_.push_back(v);
      const int64_t here = excess_imbalance(limits), imbalance_now = imbalance();
      if (here < best_excess ||
          (here == best_excess && (now > best || (now == best && imbalance_now < best_imbalance)))) {
        if (here < best_excess || now > best) fruitless = 0;
        best = now, best_excess = here, best_imbalance = imbalance_now, best_length = log_.size();
      } else {
        ++fruitless;
      }
    }
    queue_[0].clear();
    queue_[1].clear();
    while (log_.size() > best_length) {
      assign(log_.back(), part_[log_.back()] == a ? b : a);
      log_.pop_back();
    }
    if (rows_ > 0)
      for (const int32_t v : log_) shift_weights(v, part_[v] == a ? b : a, part_[v]);
    sign_[a] = sign_[b] = 0;
    gain = best;
    return best_excess < first_excess || best > 0;
  }

  // Edges scanned by the last search, how many of them in turn, and the vertices it moved permanently.
  int64_t scanned_edges() const { return scanned_edges_; }
  int64_t span() const { return span_; }
  std::span<const int32_t> moved() const { return log_; }

 private:
  static constexpr int64_t kSeedsPerRange = 256;
  static constexpr int64_t kLeastDegree = 16;  // of vertices in the gain cache, and at least twice the blocks
  static constexpr int64_t kStays = std::numeric_limits<int64_t>::min();

  // Alternates between searches: where one side gains nothing, the other may.
  int side_of_ties() const { return search_ % 2; }
  int side_of(int32_t v) const { return part_[v] == block_[0] ? 0 : part_[v] == block_[1] ? 1 : -1; }
  int64_t excess(int side) const { return load_[block_[side]] - target_[block_[side]]; }
  int64_t excess_imbalance(const Limits& limits) const {
    return std::max<int64_t>(0, imbalance() - limits.allowed_imbalance);
  }
  int64_t imbalance() const { return std::abs(excess(0)) + std::abs(excess(1)); }

  // Returns the side whose best vertex moves next: the only side with a permitted move, else the side with
  // the larger gain, else the side with the larger excess.
  int choose(const Limits& limits) {
    const bool may[2] = {fits(0, limits), fits(1, limits)};
    if (!may[0] || !may[1]) return may[0] ? 0 : may[1] ? 1 : -1;
    const int64_t one = queue_[0].key(top_[0]), other = queue_[1].key(top_[1]);
    if (one != other) return one > other ? 0 : 1;
    if (excess(0) != excess(1)) return excess(0) > excess(1) ? 0 : 1;
    return side_of_ties();
  }
  bool fits(int side, const Limits& limits) {
    if (queue_[side].empty()) return false;
    top_[side] = queue_[side].top();
    const int64_t load = g_->load[top_[side]];
    const int64_t from = std::abs(excess(side) - load), to = std::abs(excess(1 - side) + load);
    return (from <= limits.window && to <= limits.window) || from + to < imbalance();
  }

  // Queues the vertices of both blocks among the seeds, see gain().
  void consider_all(std::span<const int32_t> seeds, Team& team) {
    const int64_t count = std::ssize(seeds), step = std::min(kSeedsPerRange, vertices_per_range(*g_) / 4);
    gains_.resize(std::max<size_t>(gains_.size(), count));
    scanned_by_range_.assign((count + step - 1) / step, 0);
    parallel_ranges(count, step, team, [&](int32_t, int64_t begin, int64_t end) {
      int64_t scanned = 0;
      for (int64_t i = begin; i < end; ++i)
        if (const int side = side_of(seeds[i]); side >= 0) {
          const auto known = weights_of(seeds[i]);
          gains_[i] = known.empty() ? gain(seeds[i], side)
                                    : gain(seeds[i], side, known[block_[side]], known[block_[1 - side]]);
          scanned += known.empty() ? g_->degree(seeds[i]) : 1;
        }
      scanned_by_range_[begin / step] = scanned;
    });
    for (int64_t i = 0; i < count; ++i)
      if (const int side = side_of(seeds[i]); side >= 0 && gains_[i] != kStays)
        queue_[side].push(seeds[i], gains_[i]);
    for (const int64_t scanned : scanned_by_range_) {
      scanned_edges_ += scanned;
      span_ = std::max(span_, scanned);
    }
  }

  void consider(int32_t v, int side) {
    if (const int64_t by = gain(v, side); by != kStays) queue_[side].push(v, by);
    scanned_edges_ += g_->degree(v), span_ += g_->degree(v);
  }

  // Returns what a move of v to the other side gains if it is adjacent to the other block or loses nothing by
  // moving, because then it makes room. Branch-free, because it is unpredictable in which block a neighbour
  // is.
  int64_t gain(int32_t v, int side) const {
    const int32_t own = block_[side], other = block_[1 - side], *part = part_, *adj = g_->adj;
    const Weights<W> weight = g_->weight;
    int64_t stay = 0, connection = 0;  // weight into its own block, and into the other one
    for (int64_t e = g_->start[v], end = g_->start[v + 1]; e < end; ++e) {
      const int32_t p = part[adj[e]];
      const int64_t w = weight[e];
      stay += -int64_t{p == own} & w;
      connection += -int64_t{p == other} & w;
    }
    return gain(v, side, stay, connection);
  }
  int64_t gain(int32_t v, int side, int64_t stay, int64_t connection) const {
    const int64_t bias = bias_ ? bias_[v] : 0, by = connection - stay - (side == 0 ? bias : -bias);
    return connection > 0 || by >= 0 ? by : kStays;
  }

  void assign(int32_t v, int32_t to) {
    load_[part_[v]] -= g_->load[v];
    load_[to] += g_->load[v];
    part_[v] = to;
  }

  // Brings the gain cache up to date after a move of v.
  void shift_weights(int32_t v, int32_t from, int32_t to) {
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      if (row_[g_->adj[e]] < 0) continue;
      int64_t* row = weight_into_.data() + row_[g_->adj[e]] * std::ssize(target_);
      row[from] -= g_->weight[e], row[to] += g_->weight[e];
    }
    scanned_edges_ += g_->degree(v), span_ += g_->degree(v);
  }

  void move(int32_t v, int side) {
    assign(v, block_[1 - side]);
    locked_[v] = search_;
    scanned_edges_ += g_->degree(v), span_ += g_->degree(v);
    const int64_t sign = side == 0 ? 1 : -1;
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      const int32_t u = g_->adj[e];
      const int64_t at = sign_[part_[u]];
      if (at == 0) continue;
      BucketQueue& queue = queue_[at > 0];
      const int64_t twice = int64_t{2} * g_->weight[e];
      if (queue.contains(u)) queue.change(u, queue.key(u) - sign * at * twice);
      else if (at != sign && locked_[u] != search_) consider(u, side);
    }
  }

  std::span<const int64_t> target_;
  std::vector<int64_t>& load_;
  const Graph<W>* g_ = nullptr;
  int32_t* part_ = nullptr;
  const int64_t* bias_ = nullptr;
  int32_t block_[2] = {0, 1};
  std::vector<int64_t> sign_;  // -1 and 1 for the two blocks, 0 for all others
  BucketQueue queue_[2];
  int32_t top_[2] = {-1, -1};  // of the queues that are not empty, since fits()
  std::vector<int32_t> locked_;  // number of the search in which a vertex moved
  std::vector<int64_t> row_;  // of every vertex in the gain cache, -1 if it is not there
  int64_t rows_ = 0;
  std::vector<int64_t> weight_into_;  // the gain cache: weights into all blocks, row by row
  std::vector<int32_t> log_;
  std::vector<int64_t> gains_, scanned_by_range_;  // of the vertices that a search starts from
  int32_t search_ = 0;
  int64_t scanned_edges_ = 0, span_ = 0;
};

// Compiled in exact_partitioner.cpp, and used by searches for one task per PE as well.
extern template class TwoWayFm<int32_t>;
extern template class TwoWayFm<int64_t>;

}  // namespace hopbytes
