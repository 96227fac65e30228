// Refinement of a partition into blocks of given sizes by two-way FM between pairs of adjacent blocks.
#pragma once
#include "control.hpp"
#include "initial.hpp"
#include "two_way_fm.hpp"

namespace hopbytes {

// A vertex on the boundary between two blocks.
struct PairVertex {
  int64_t pair;  // a * k + b for blocks a < b
  int32_t vertex;
};

// Sorts by pair; vertices of one pair keep their order.
inline void sort_by_pair(std::vector<PairVertex>& boundary) {
  std::stable_sort(boundary.begin(), boundary.end(),
                   [](const PairVertex& x, const PairVertex& y) { return x.pair < y.pair; });
}

template <class W> class PairwiseFm {
 public:
  // With at most so many blocks the boundary is sorted by counting.
  static constexpr int32_t kFewBlocks = 64;

  PairwiseFm(std::span<const int64_t> size, int32_t rounds, int32_t fruitless_moves, const Control& control)
      : k_(static_cast<int32_t>(size.size())),
        rounds_(rounds),
        fruitless_moves_(fruitless_moves),
        size_(size),
        control_(control),
        load_(k_, 0),
        fm_(size, load_) {}
  PairwiseFm(const PairwiseFm&) = delete;

  // Attaches the partition of a graph, which is kept by reference and changed in place.
  void attach(const WorkGraph<W>& g, std::vector<int32_t>& part) {
    g_ = &g, part_ = &part;
    fm_.attach(g, part.data());
  }

  // Has to be called whenever the partition was changed from outside.
  void count_loads() {
    std::fill(load_.begin(), load_.end(), 0);
    for (int64_t v = 0; v < g_->n; ++v) load_[(*part_)[v]] += g_->load[v];
  }

  std::vector<int64_t>& loads() { return load_; }

  Score quality() const {
    Score s{0, edge_cut(*g_, part_->data())};
    for (int32_t b = 0; b < k_; ++b)
      s.overload += std::max<int64_t>(0, load_[b] - size_[b] - allowed_imbalance());
    return s;
  }

  // Searches once between the blocks a and b from some of their vertices. Returns whether the state became
  // better.
  bool improve(int32_t a, int32_t b, std::span<const int32_t> seeds) {
    int64_t gain = 0;
    return fm_.improve(a, b, seeds, limits(), gain);
  }

  // Refines pairs of adjacent blocks until no pair gains. After the first round it searches only pairs with a
  // boundary vertex that moved in the previous round or has a neighbour that did: all other searches would
  // repeat themselves. With `refined` the first round, too, searches only what differs from that partition.
  void refine(const int32_t* refined = nullptr) {
    active_.assign(k_, refined ? 0 : 1);
    if (static_cast<int64_t>(changed_.size()) < g_->n) changed_.resize(g_->n, 0);
    ++round_number_;
    for (int32_t v = 0; refined && v < g_->n; ++v)
      if ((*part_)[v] != refined[v]) active_[(*part_)[v]] = active_[refined[v]] = 1, mark(v);
    std::vector<int32_t> seeds;
    for (int32_t round = 0; round < rounds_ && !control_.should_stop(); ++round) {
      if (std::find(active_.begin(), active_.end(), 1) == active_.end()) break;
      find_boundary();
      std::vector<uint8_t> next(k_, 0);
      const int32_t before = round_number_++;
      for (size_t begin = 0, end = 0; begin < boundary_.size(); begin = end) {
        const int64_t pair = boundary_[begin].pair;
        const auto a = static_cast<int32_t>(pair / k_), b = static_cast<int32_t>(pair % k_);
        seeds.clear();
        bool differs = round == 0 && !refined;
        for (; end < boundary_.size() && boundary_[end].pair == pair; ++end) {
          seeds.push_back(boundary_[end].vertex);
          differs |= changed_[seeds.back()] >= before;
        }
        if (!differs) continue;
        if (improve(a, b, seeds)) {
          next[a] = next[b] = 1;
          for (const int32_t v : fm_.moved()) mark(v);
        }
        control_.record_work(fm_.scanned_edges());
      }
      active_.swap(next);
    }
  }

 private:
  int64_t allowed_imbalance() const { return g_->max_load == 1 ? 0 : g_->max_load; }

  typename TwoWayFm<W>::Limits limits() const {
    typename TwoWayFm<W>::Limits limits;
    // The window is one vertex: wider windows were measured and were worse.
    limits.window = g_->max_load;
    limits.allowed_imbalance = allowed_imbalance();
    limits.fruitless_moves = g_->max_load == 1 ? fruitless_moves_ * 3 / 5 : fruitless_moves_;
    return limits;
  }

  // Records that v and its neighbourhood have changed.
  void mark(int32_t v) {
    changed_[v] = round_number_;
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) changed_[g_->adj[e]] = round_number_;
  }

  // Lists the boundary vertices of every pair of blocks with an active block, pair by pair.
  void find_boundary() {
    boundary_.clear();
    control_.record_work(g_->arcs());
    if (k_ == 2) return find_boundary_of_two();
    const std::vector<int32_t>& part = *part_;
    std::vector<int32_t> last(k_, -1);  // the vertex entered last for each block
    for (int32_t v = 0; v < g_->n; ++v) {
      const int32_t own = part[v];
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t other = part[g_->adj[e]];
        if (other == own || last[other] == v || !(active_[own] || active_[other])) continue;
        last[other] = v;
        boundary_.push_back({int64_t{std::min(own, other)} * k_ + std::max(own, other), v});
      }
    }
    if (k_ <= kFewBlocks) sort_by_counting();
    else sort_by_pair(boundary_);
  }

  // With two blocks, one neighbour in the other block suffices to recognise a boundary vertex.
  void find_boundary_of_two() {
    const int32_t* part = part_->data();
    for (int32_t v = 0; v < g_->n; ++v)
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
        if (part[g_->adj[e]] != part[v]) {
          boundary_.push_back({1, v});
          break;
        }
  }

  // A counting sort, because this function runs thousands of times per second.
  void sort_by_counting() {
    std::vector<int32_t> place(static_cast<size_t>(k_) * k_ + 1, 0);
    for (const PairVertex& c : boundary_) ++place[c.pair + 1];
    for (size_t p = 1; p < place.size(); ++p) place[p] += place[p - 1];
    sorted_.resize(boundary_.size());
    for (const PairVertex& c : boundary_) sorted_[place[c.pair]++] = c;
    boundary_.swap(sorted_);
  }

  int32_t k_, rounds_, fruitless_moves_;
  std::span<const int64_t> size_;
  const Control& control_;
  std::vector<int64_t> load_;
  TwoWayFm<W> fm_;
  std::vector<PairVertex> boundary_, sorted_;
  const WorkGraph<W>* g_ = nullptr;
  std::vector<int32_t>* part_ = nullptr;
  std::vector<uint8_t> active_;   // whether a block changed in the previous round
  std::vector<int32_t> changed_;  // the round in which a vertex or one of its neighbours moved last
  int32_t round_number_ = 0;      // over all calls
};

}  // namespace hopbytes
