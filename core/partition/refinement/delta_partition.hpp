// The moves of one search as a difference from a partition, which stays as it is, so that several searches
// can run at the same time.
#pragma once
#include "partition/partition.hpp"

namespace hopbytes {

// The vertices that a search looks at get local numbers 0, 1, ... in the order in which it touches them; only
// these have a block and a row of weights here. A search touches a few hundred vertices, which therefore stay
// in the nearest caches, and starting anew costs as much as the search before touched.
template <class W> class DeltaPartition {
 public:
  using Choice = typename Partition<W>::Choice;

  // Starts with the state of a partition, which has to stay as it is until the last move. Vertices marked in
  // `locked` do not move.
  void start(const Partition<W>& base, const std::vector<uint8_t>& locked) {
    if (slots_.empty()) grow_table();
    for (const Item& item : items_) slots_[item.slot].vertex = kNone;
    items_.clear(), sums_.clear(), computed_.clear(), computed_rows_.clear();
    scanned_edges_ = 0;
    if (k_ != base.k()) near_ = Connectivity<W>(base.k());
    base_ = &base;
    locked_ = &locked;
    k_ = base.k();
    dense_ = near_.cached();
    by_row_ = base.by_row();
    load_.assign(base.loads().begin(), base.loads().end());
    limit_ = base.max_block_weights();
  }

  // Returns the local number of v.
  int32_t touch(int32_t v) {
    const size_t at = slot_of(v);
    return slots_[at].vertex == v ? slots_[at].item : touch_first(v, at);
  }
  int32_t count() const { return static_cast<int32_t>(items_.size()); }
  int32_t vertex(int32_t i) const { return items_[i].vertex; }
  int32_t block(int32_t i) const { return items_[i].block; }
  int64_t excess(int32_t b) const { return std::max<int64_t>(0, load_[b] - limit_[b]); }

  Choice choose(int32_t i, int64_t slack) {
    const Item& item = items_[i];
    scanned_edges_ += item.edges_per_choice;
    if (by_row_) return base_->choose_from(rows_.data() + i * k_, item.load, item.block, load_, slack);
    return choose_by_cost(i, slack);
  }

  // Moves a vertex, which moves once, and calls visit(j) for each neighbour that may move and is no hub.
  template <class Visit> void move(int32_t i, int32_t to, Visit visit) {
    const int32_t v = items_[i].vertex, from = items_[i].block;
    const Graph<W>& g = base_->graph();
    load_[from] -= items_[i].load;
    load_[to] += items_[i].load;
    items_[i].block = to;
    items_[i].moved = true;
    scanned_edges_ += g.degree(v);
    for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e) {
      const int32_t u = g.adj[e];
      const size_t at = slot_of(u);
      int32_t j = slots_[at].item;
      if (slots_[at].vertex != u) {
        // A vertex is touched here before the first of its neighbours moves, since the row of a vertex that
        // is touched speaks of the state before all moves.
        if ((*locked_)[u] || g.degree(u) > kHubDegree) continue;
        j = touch_first(u, at);
      }
      if (items_[j].moved) continue;
      change(j, from, -g.weight[e]);
      change(j, to, g.weight[e]);
      if (!items_[j].hub) visit(j);
    }
  }

  int64_t scanned_edges() const { return scanned_edges_; }
  // The vertices whose rows the partition did not know, and these rows before all moves.
  std::vector<int32_t>& computed() { return computed_; }
  std::vector<W>& computed_rows() { return computed_rows_; }

 private:
  static constexpr int32_t kNone = -1;
  struct Slot {
    int32_t vertex = kNone, item = 0;
  };
  // With few blocks, the weights of a vertex into all blocks are at i * k; with many, the sums of those that
  // are near are at `sums`, with room for `most`.
  struct Item {
    int32_t vertex, block, slot;
    int32_t edges_per_choice = 0;  // how many a choice counts as scanned
    int32_t count = 0, most = 0;
    int64_t sums = 0, load = 0;
    bool moved = false, hub = false;
  };
  using Sum = typename Connectivity<W>::Sum;

  // Where v is in the table, or where it would be.
  size_t slot_of(int32_t v) const {
    size_t at = static_cast<uint32_t>(v) * 0x9e3779b1u >> shift_;
    while (slots_[at].vertex != v && slots_[at].vertex != kNone) at = (at + 1) & mask_;
    return at;
  }

  int32_t touch_first(int32_t v, size_t at) {
    const int32_t i = count();
    slots_[at] = {v, i};
    Item& item = items_.emplace_back(v, base_->block(v), static_cast<int32_t>(at));
    item.load = base_->graph().load[v];
    item.hub = base_->graph().degree(v) > kHubDegree;
    if (dense_) add_row(i);
    else add_sums(item);
    if (2 * items_.size() > slots_.size()) grow_table();
    return i;
  }

  Choice choose_by_cost(int32_t i, int64_t slack) {
    const Item& item = items_[i];
    if (dense_) near_.select_row(rows_.data() + i * k_);
    else near_.select_sums(std::span(sums_).subspan(item.sums, item.count));
    return base_->choose_from(near_, item.vertex, item.block, load_, slack);
  }

  void grow_table() {
    constexpr size_t first = 1 << 10;
    slots_.assign(std::max(first, 2 * slots_.size()), {});
    mask_ = slots_.size() - 1;
    shift_ = 32 - std::countr_zero(slots_.size());
    for (int32_t i = 0; i < count(); ++i) {
      const size_t at = slot_of(items_[i].vertex);
      slots_[at] = {items_[i].vertex, i};
      items_[i].slot = static_cast<int32_t>(at);
    }
  }

  void add_row(int32_t i) {
    const Graph<W>& g = base_->graph();
    const int32_t v = items_[i].vertex;
    const int64_t k = k_, degree = g.degree(v);
    items_[i].edges_per_choice = static_cast<int32_t>(std::min(k, degree));
    if ((i + 1) * k > std::ssize(rows_)) rows_.resize(2 * (i + 1) * k);
    W* row = rows_.data() + i * k;
    if (const W* known = base_->known_row(v)) {
      for (int64_t b = 0; b < k; ++b) row[b] = known[b];
      return;
    }
    for (int64_t b = 0; b < k; ++b) row[b] = 0;
    const int32_t* block = base_->blocks().data();
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) row[block[g.adj[e]]] += g.weight[e];
    scanned_edges_ += degree - items_[i].edges_per_choice;  // choose() counts the other ones
    computed_.push_back(v);
    computed_rows_.insert(computed_rows_.end(), row, row + k);
  }

  void add_sums(Item& item) {
    constexpr int32_t more = 2;  // A search may bring vertices of further blocks near.
    scanned_edges_ += near_.select(base_->graph(), base_->blocks().data(), item.vertex);
    item.sums = std::ssize(sums_);
    near_.append_sums(sums_);
    item.count = item.edges_per_choice = static_cast<int32_t>(std::ssize(sums_) - item.sums);
    item.most = item.count + more;
    sums_.resize(item.sums + item.most);
  }

  void change(int32_t i, int32_t block, W weight) {
    if (dense_) rows_[i * k_ + block] += weight;
    else change_sum(items_[i], block, weight);
  }

  void change_sum(Item& item, int32_t block, W weight) {
    for (int64_t s = item.sums; s < item.sums + item.count; ++s)
      if (sums_[s].block == block) {
        sums_[s].weight += weight;
        return;
      }
    if (item.count == item.most) {
      const int64_t sums = std::ssize(sums_);
      item.most = 2 * item.most;
      sums_.resize(sums + item.most);
      std::copy_n(sums_.begin() + item.sums, item.count, sums_.begin() + sums);
      item.sums = sums;
    }
    sums_[item.sums + item.count++] = {block, weight};
  }

  const Partition<W>* base_ = nullptr;
  const std::vector<uint8_t>* locked_ = nullptr;
  bool by_row_ = false, dense_ = false;  // whether rows decide choices; whether they are for every block
  int64_t k_ = 0;
  std::vector<int64_t> load_;
  std::span<const int64_t> limit_;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int32_t shift_ = 0;  // leaves the highest bits of a product as a place in the table
  std::vector<Item> items_;
  std::vector<W> rows_;
  std::vector<Sum> sums_;
  Connectivity<W> near_{0};  // the blocks near the vertex of a choice
  int64_t scanned_edges_ = 0;
  std::vector<int32_t> computed_;
  std::vector<W> computed_rows_;
};

}  // namespace hopbytes
