// The weight of the edges from a vertex to each block.
#pragma once
#include "graph/any_distance.hpp"
#include "graph/graph.hpp"
#include "util/zeroed_array.hpp"

namespace hopbytes {

// The weight from a vertex into each adjacent block (the gain cache of other partitioners). With few blocks a
// row per vertex is cached: it is computed on first use and updated by moves. Searches look only at vertices
// at the boundaries of blocks, so few vertices have a row. With many blocks the weights are computed by a
// scan each time.
template <class W> class Connectivity {
 public:
  static constexpr int64_t kFewBlocks = 16;

  struct Sum {
    int32_t block;
    W weight;
  };

  explicit Connectivity(int64_t k)
      : k_(k), cached_(k <= kFewBlocks), scratch_(cached_ ? 0 : k, 0), blocks_(k) {}

  void attach(const Graph<W>& g, const int32_t* part) {
    g_ = &g, part_ = part;
    count_ = 0;
    std::fill(scratch_.begin(), scratch_.end(), 0);
    if (!cached_) return;
    for (const int32_t v : with_row_) row_of_[v] = SparseNumbers::unset;
    if (row_of_.size() < g.n) row_of_ = SparseNumbers(g.n);
    with_row_.clear();
    rows_.clear();
  }

  // Whether every vertex that is looked at has a row.
  bool cached() const { return cached_; }

  // Returns the row of v, which exists if cached(), and adds the number of scanned edges to `work`; a known
  // row has an entry per block, which is counted like an edge.
  const W* row(int32_t v, int64_t& work) {
    if (row_of_[v] >= 0) {
      work += std::min<int64_t>(k_, g_->degree(v));
    } else {
      work += g_->degree(v);
      add_row(v);
    }
    return row_at(v);
  }

  // Returns the row of v, or null if it has none yet.
  const W* known_row(int32_t v) const {
    return cached_ && row_of_[v] >= 0 ? rows_.data() + row_of_[v] * k_ : nullptr;
  }
  // Gives v a row that was computed elsewhere, unless it has one.
  void keep_row(int32_t v, const W* row) {
    if (row_of_[v] >= 0) return;
    give_row(v);
    rows_.insert(rows_.end(), row, row + k_);
  }

  // Selects v: the methods below then speak of its adjacent blocks. Returns the number of scanned edges; see
  // row().
  int64_t select(int32_t v) {
    if (!cached_) return select(*g_, part_, v);
    int64_t work = 0;
    select_row(row(v, work));
    return work;
  }
  // The same by a scan, where nothing is cached.
  int64_t select(const Graph<W>& g, const int32_t* part, int32_t v) {
    clear_scratch();
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t b = part[g.adj[e]];
      if (scratch_[b] == 0 && g.weight[e] != 0) blocks_[count_++] = b;  // lists every block once
      scratch_[b] += g.weight[e];
    }
    sum_up();
    return g.degree(v);
  }
  // Selects a vertex by its weight into every block.
  void select_row(const W* weight) {
    count_ = 0;
    weight_ = weight;
    for (int32_t b = 0; b < k_; ++b) blocks_[count_] = b, count_ += weight_[b] != 0;
    sum_up();
  }
  // Selects a vertex by its weight into some blocks, where nothing is cached.
  void select_sums(std::span<const Sum> sums) {
    clear_scratch();
    for (const auto [b, weight] : sums)
      if (weight != 0) blocks_[count_++] = b, scratch_[b] = weight;
    sum_up();
  }
  // Appends the weight from the selected vertex into each adjacent block.
  void append_sums(std::vector<Sum>& sums) const {
    for (const int32_t b : blocks()) sums.push_back({b, weight_[b]});
  }

  // Updates the cached rows of the neighbours after v has moved from one block to another, and calls visit(u)
  // for each neighbour u as soon as its row is up to date.
  template <class Visit> void moved(int32_t v, int32_t from, int32_t to, Visit visit) {
    for (int64_t e = g_->start[v], end = g_->start[v + 1]; e < end; ++e) {
      const int32_t u = g_->adj[e];
      if (cached_ && row_of_[u] >= 0) {
        W* row = row_at(u);
        row[from] -= g_->weight[e];
        row[to] += g_->weight[e];
      }
      visit(u);
    }
  }
  void moved(int32_t v, int32_t from, int32_t to) {
    if (cached_) moved(v, from, to, [](int32_t) {});
  }

  // Whether the cached rows are those of the present blocks.
  bool verify() const {
    for (size_t i = 0; i < with_row_.size(); ++i) {
      const int32_t v = with_row_[i];
      std::vector<W> row(k_, 0);
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) row[part_[g_->adj[e]]] += g_->weight[e];
      if (!std::equal(row.begin(), row.end(), rows_.begin() + static_cast<int64_t>(i) * k_)) return false;
    }
    return true;
  }

  // Returns the candidate blocks of the selected vertex. With very many adjacent blocks only those with the
  // heaviest connection are candidates: a vertex adjacent to B blocks would cost O(B^2) to place, and hubs
  // are adjacent to thousands.
  std::span<const int32_t> candidate_blocks() {
    if (count_ <= kMostCandidates) return blocks();
    candidates_.assign(blocks().begin(), blocks().end());
    std::nth_element(
        candidates_.begin(), candidates_.begin() + kMostCandidates, candidates_.end(),
        [&](int32_t x, int32_t y) { return weight_[x] != weight_[y] ? weight_[x] > weight_[y] : x < y; });
    candidates_.resize(kMostCandidates);
    std::sort(candidates_.begin(), candidates_.end());
    return candidates_;
  }

  // Returns the cost of the edges of the selected vertex if it is in block p.
  int64_t cost(const AnyDistance& distance, int32_t p) const {
    return distance.flat() ? total_ - weight_[p] : distance.weighted_sum(p, blocks(), weight_);
  }

 private:
  static constexpr int64_t kMostCandidates = 64;

  std::span<const int32_t> blocks() const { return {blocks_.data(), static_cast<size_t>(count_)}; }

  void clear_scratch() {
    for (const int32_t b : blocks()) scratch_[b] = 0;
    count_ = 0;
    weight_ = scratch_.data();
  }

  void sum_up() {
    total_ = 0;
    for (int32_t b : blocks()) total_ += weight_[b];
  }

  void give_row(int32_t v) {
    row_of_[v] = static_cast<int32_t>(std::ssize(with_row_));
    with_row_.push_back(v);
  }
  W* row_at(int32_t v) { return rows_.data() + row_of_[v] * k_; }

  void add_row(int32_t v) {
    give_row(v);
    rows_.resize(rows_.size() + k_, 0);
    W* row = row_at(v);
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) row[part_[g_->adj[e]]] += g_->weight[e];
  }

  int64_t k_;
  bool cached_;
  const Graph<W>* g_ = nullptr;
  const int32_t* part_ = nullptr;
  const W* weight_ = nullptr;
  std::vector<W> scratch_, rows_;
  int64_t total_ = 0;  // weight from the selected vertex to all blocks
  SparseNumbers row_of_;           // the number of the row of each vertex, -1 without one
  std::vector<int32_t> with_row_;  // the vertices that have one
  int64_t count_ = 0;
  std::vector<int32_t> blocks_;  // the first count_ entries are adjacent to the selected vertex
  std::vector<int32_t> candidates_;
};

}  // namespace hopbytes
