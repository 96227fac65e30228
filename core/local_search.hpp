// Localised multi-try FM on the communication cost, k blocks, with rollback.
//
// One round visits every boundary vertex as a seed. From a few seeds a search moves the vertex with
// the best gain (also negative ones), locks it, updates its neighbours, and stops after `patience`
// moves without a new best; what came after the best state is undone. A vertex moves at most once a
// round. (Sanders, Schulz 2011, "multi-try FM"; here on J for any distance, and blocks may be
// overfull by `slack` inside a search, so that exactly full blocks can exchange vertices.)
#pragma once
#include <atomic>
#include <limits>

#include "distance.hpp"
#include "rng.hpp"
#include "work_graph.hpp"

namespace hopbytes {

// Set from Python: 0 go on, 1 finish quickly (deadline), 2 give up (interrupt).
class Control {
 public:
  explicit Control(int32_t* flag) : flag_(flag) {}
  bool hurry() const { return flag_ && std::atomic_ref<int32_t>(*flag_).load(std::memory_order_relaxed) != 0; }

 private:
  int32_t* flag_;
};

// A binary max-heap of vertices with changeable keys.
class VertexHeap {
 public:
  void resize(int64_t n) { if (static_cast<int64_t>(place_.size()) < n) place_.resize(n, -1); }
  bool empty() const { return items_.empty(); }
  bool contains(int32_t v) const { return place_[v] >= 0; }
  int32_t top() const { return items_[0].vertex; }
  int64_t top_key() const { return items_[0].key; }
  void push(int32_t v, int64_t key) {
    place_[v] = static_cast<int32_t>(items_.size());
    items_.push_back({key, v});
    up(place_[v]);
  }
  void change(int32_t v, int64_t key) {
    const int32_t i = place_[v];
    const int64_t old = items_[i].key;
    items_[i].key = key;
    if (key > old) up(i);
    else if (key < old) down(i);
  }
  void remove(int32_t v) {
    const int32_t i = place_[v];
    place_[v] = -1;
    const Item last = items_.back();
    items_.pop_back();
    if (last.vertex == v) return;
    items_[i] = last;
    place_[last.vertex] = i;
    up(i);
    down(place_[last.vertex]);
  }
  void pop() { remove(top()); }
  void clear() {
    for (const Item& item : items_) place_[item.vertex] = -1;
    items_.clear();
  }

 private:
  struct Item { int64_t key; int32_t vertex; };
  void put(int32_t i, Item item) { items_[i] = item; place_[item.vertex] = i; }
  void up(int32_t i) {
    const Item item = items_[i];
    while (i > 0 && items_[(i - 1) / 2].key < item.key) put(i, items_[(i - 1) / 2]), i = (i - 1) / 2;
    put(i, item);
  }
  void down(int32_t i) {
    const Item item = items_[i];
    const int32_t size = static_cast<int32_t>(items_.size());
    for (int32_t child; (child = 2 * i + 1) < size; i = child) {
      if (child + 1 < size && items_[child + 1].key > items_[child].key) ++child;
      if (items_[child].key <= item.key) break;
      put(i, items_[child]);
    }
    put(i, item);
  }
  std::vector<Item> items_;
  std::vector<int32_t> place_;
};

// Weight from a vertex into each adjacent block. With few blocks a row per vertex is kept, filled when
// first asked for and updated by moves; with many it is collected by a scan each time.
template <class W> class Connectivity {
 public:
  static constexpr int64_t kFewBlocks = 16;

  explicit Connectivity(int64_t k) : k_(k), cached_(k <= kFewBlocks), scratch_(cached_ ? 0 : k, 0) {}

  void adopt(const WorkGraph<W>& g, const int32_t* part) {
    g_ = &g, part_ = part;
    blocks_.clear();
    std::fill(scratch_.begin(), scratch_.end(), 0);
    if (!cached_) return;
    known_.assign(g.n, 0);
    if (static_cast<int64_t>(rows_.size()) < g.n * k_) rows_.resize(g.n * k_);
  }

  // Point at the blocks next to v.
  void collect(int32_t v) {
    for (int32_t b : blocks_)
      if (!cached_) scratch_[b] = 0;
    blocks_.clear();
    if (cached_) {
      int64_t* row = rows_.data() + v * k_;
      if (!known_[v]) fill(v, row);
      for (int32_t b = 0; b < k_; ++b)
        if (row[b]) blocks_.push_back(b);
      weight_ = row;
      return;
    }
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      const int32_t b = part_[g_->adj[e]];
      if (scratch_[b] == 0) blocks_.push_back(b);
      scratch_[b] += g_->weight[e];
    }
    weight_ = scratch_.data();
  }

  // v has gone from one block to another: tell its neighbours' rows.
  void moved(int32_t v, int32_t from, int32_t to) {
    if (!cached_) return;
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      const int32_t u = g_->adj[e];
      if (!known_[u]) continue;
      rows_[u * k_ + from] -= g_->weight[e];
      rows_[u * k_ + to] += g_->weight[e];
    }
  }

  const std::vector<int32_t>& blocks() const { return blocks_; }

  // Cost of placing the collected vertex on block p.
  template <class D> int64_t cost(const D& distance, int32_t p) const {
    int64_t total = 0;
    for (int32_t b : blocks_) total += weight_[b] * distance(p, b);
    return total;
  }

 private:
  void fill(int32_t v, int64_t* row) {
    known_[v] = 1;
    std::fill(row, row + k_, 0);
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) row[part_[g_->adj[e]]] += g_->weight[e];
  }

  int64_t k_;
  bool cached_;
  const WorkGraph<W>* g_ = nullptr;
  const int32_t* part_ = nullptr;
  const int64_t* weight_ = nullptr;
  std::vector<int64_t> scratch_, rows_;
  std::vector<uint8_t> known_;
  std::vector<int32_t> blocks_;
};

struct SearchOptions {
  int32_t rounds = 3;
  int32_t patience = 40;   // fruitless moves before a search stops
  int32_t seeds = 8;       // boundary vertices a search starts from
  int64_t slack = 0;       // how far a block may be overfull inside a search
  int32_t hub_degree = 512;  // neighbours above it are not re-evaluated at every move
};

template <class W, class D> class LocalSearch {
 public:
  struct Move { int32_t vertex, from; };

  LocalSearch(D distance, int64_t k, const int64_t* cap) : distance_(distance), k_(k), cap_(cap), load_(k, 0), connectivity_(k) {}

  const std::vector<int64_t>& loads() const { return load_; }

  // Adopt a partition of a graph (kept by reference and changed in place).
  void adopt(const WorkGraph<W>& g, int32_t* part) {
    g_ = &g, part_ = part;
    heap_.resize(g.n);
    connectivity_.adopt(g, part);
    mark_.assign(g.n, 0);
    std::fill(load_.begin(), load_.end(), 0);
    for (int64_t v = 0; v < g.n; ++v) load_[part[v]] += g.load[v];
  }

  int64_t overload() const {
    int64_t over = 0;
    for (int64_t b = 0; b < k_; ++b) over += std::max<int64_t>(0, load_[b] - cap_[b]);
    return over;
  }

  // Run rounds over the boundary; `candidate` (may be null) marks the only vertices that can lie on
  // it. Returns the gain. On return `boundary()` holds the boundary vertices.
  int64_t run(const SearchOptions& options, const uint8_t* candidate, Rng& rng, const Control& control) {
    find_boundary(candidate);
    if (overload() > 0) {
      rebalance();
      find_boundary(nullptr);
    }
    seeds_ = boundary_;
    int64_t total = 0;
    for (int32_t round = 0; round < options.rounds && !control.hurry(); ++round) {
      const int64_t gain = run_round(options, rng, control);
      total += gain;
      refresh_boundary();
      if (gain <= 0) break;
    }
    return total;
  }

  const std::vector<int32_t>& boundary() const { return boundary_; }

  void find_boundary(const uint8_t* candidate) {
    boundary_.clear();
    for (int64_t v = 0; v < g_->n; ++v)
      if ((!candidate || candidate[v]) && on_boundary(static_cast<int32_t>(v))) boundary_.push_back(static_cast<int32_t>(v));
  }

  // After a round only the old boundary, the moved vertices and their neighbours can lie on it; the
  // next round starts from where something moved.
  void refresh_boundary() {
    std::fill(mark_.begin(), mark_.end(), 0);
    std::vector<int32_t> suspects;
    auto suspect = [&](int32_t v) {
      if (!mark_[v]) mark_[v] = 1, suspects.push_back(v);
    };
    for (int32_t v : kept_) {
      suspect(v);
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) suspect(g_->adj[e]);
    }
    const size_t near_moves = suspects.size();
    for (int32_t v : boundary_) suspect(v);
    boundary_.clear();
    seeds_.clear();
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (!on_boundary(suspects[i])) continue;
      boundary_.push_back(suspects[i]);
      if (i < near_moves) seeds_.push_back(suspects[i]);
    }
    std::sort(boundary_.begin(), boundary_.end());
    std::sort(seeds_.begin(), seeds_.end());
  }

  // Move vertices out of overfull blocks at the least loss per load until none is left or no move
  // fits. Never makes another block overfull.
  void rebalance() {
    for (int64_t b = 0; b < k_; ++b)
      if (load_[b] > cap_[b]) drain(static_cast<int32_t>(b));
  }

  int64_t moves() const { return moves_; }

 private:
  struct Choice { int32_t block = -1; int64_t gain = std::numeric_limits<int64_t>::min(); };

  bool on_boundary(int32_t v) const {
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
      if (part_[g_->adj[e]] != part_[v]) return true;
    return false;
  }

  // Best block for v among the adjacent ones with room; ties go to the emptier block.
  Choice choose(int32_t v, int64_t slack) {
    connectivity_.collect(v);
    const int32_t own = part_[v];
    Choice best;
    int64_t own_cost = -1;
    const bool crowded = load_[own] > cap_[own];
    for (int32_t b : connectivity_.blocks()) {
      if (b == own || load_[b] + g_->load[v] > cap_[b] + (crowded ? 0 : slack)) continue;
      if (own_cost < 0) own_cost = connectivity_.cost(distance_, own);
      const int64_t gain = own_cost - connectivity_.cost(distance_, b);
      if (gain > best.gain || (gain == best.gain && load_[b] < load_[best.block])) best = {b, gain};
    }
    return best;
  }

  void move(int32_t v, int32_t to) {
    load_[part_[v]] -= g_->load[v];
    load_[to] += g_->load[v];
    connectivity_.moved(v, part_[v], to);
    part_[v] = to;
    ++moves_;
  }

  int64_t run_round(const SearchOptions& options, Rng& rng, const Control& control) {
    std::fill(mark_.begin(), mark_.end(), 0);
    kept_.clear();
    rng.shuffle(seeds_);
    int64_t total = 0;
    size_t next = 0;
    while (next < seeds_.size() && !control.hurry()) {
      for (int32_t planted = 0; planted < options.seeds && next < seeds_.size(); ++next) {
        const int32_t v = seeds_[next];
        if (mark_[v]) continue;
        const Choice choice = choose(v, options.slack);
        if (choice.block < 0) continue;
        heap_.push(v, choice.gain);
        ++planted;
      }
      total += search(options);
    }
    return total;
  }

  int64_t search(const SearchOptions& options) {
    log_.clear();
    int64_t gain = 0, best_gain = 0;
    size_t best_length = 0;
    int64_t over = 0;  // overload relative to the start
    int32_t fruitless = 0;
    while (!heap_.empty() && fruitless <= options.patience) {
      const int32_t v = heap_.top();
      const Choice choice = choose(v, options.slack);
      if (choice.block < 0) {
        heap_.pop();
        continue;
      }
      if (choice.gain < heap_.top_key()) {  // loads changed since it was queued
        heap_.change(v, choice.gain);
        if (heap_.top() != v) continue;
      }
      heap_.pop();
      const int32_t from = part_[v];
      over -= excess(from) + excess(choice.block);
      move(v, choice.block);
      over += excess(from) + excess(choice.block);
      mark_[v] = 1;
      log_.push_back({v, from});
      gain += choice.gain;
      if (over <= 0 && (gain > best_gain || over < 0)) {
        best_gain = gain, best_length = log_.size(), fruitless = 0;
        if (over < 0) over = 0;
      } else {
        ++fruitless;
      }
      update_neighbours(v, options);
    }
    heap_.clear();
    while (log_.size() > best_length) {
      move(log_.back().vertex, log_.back().from);
      mark_[log_.back().vertex] = 0;  // free for later searches of this round
      log_.pop_back();
    }
    for (const Move& m : log_) kept_.push_back(m.vertex);
    return best_gain;
  }

  int64_t excess(int32_t b) const { return std::max<int64_t>(0, load_[b] - cap_[b]); }

  void update_neighbours(int32_t v, const SearchOptions& options) {
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      const int32_t u = g_->adj[e];
      if (mark_[u] || g_->degree(u) > options.hub_degree) continue;
      const Choice choice = choose(u, options.slack);
      if (choice.block < 0) {
        if (heap_.contains(u)) heap_.remove(u);
      } else if (heap_.contains(u)) {
        heap_.change(u, choice.gain);
      } else {
        heap_.push(u, choice.gain);
      }
    }
  }

  void drain(int32_t block) {
    for (int64_t v = 0; v < g_->n; ++v)
      if (part_[v] == block && g_->load[v] > 0) {
        const Choice choice = evict(static_cast<int32_t>(v));
        if (choice.block >= 0) heap_.push(static_cast<int32_t>(v), per_load(choice.gain, g_->load[v]));
      }
    while (!heap_.empty() && load_[block] > cap_[block]) {
      const int32_t v = heap_.top();
      const int64_t key = heap_.top_key();
      const Choice choice = evict(v);
      if (choice.block < 0) {
        heap_.pop();
        continue;
      }
      const int64_t now = per_load(choice.gain, g_->load[v]);
      if (now < key) {
        heap_.change(v, now);
        continue;
      }
      heap_.pop();
      move(v, choice.block);
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        if (!heap_.contains(u)) continue;
        const Choice again = evict(u);
        if (again.block >= 0) heap_.change(u, per_load(again.gain, g_->load[u]));
      }
    }
    heap_.clear();
  }

  static int64_t per_load(int64_t gain, int64_t load) { return gain < 0 ? gain / std::max<int64_t>(load, 1) : gain; }

  // Where v would go if it had to leave: the best adjacent block with room, else the emptiest block.
  Choice evict(int32_t v) {
    Choice best = choose(v, 0);
    if (best.block >= 0) return best;
    int64_t room = -1;
    int32_t emptiest = -1;
    for (int64_t b = 0; b < k_; ++b)
      if (b != part_[v] && cap_[b] - load_[b] > room && load_[b] + g_->load[v] <= cap_[b])
        room = cap_[b] - load_[b], emptiest = static_cast<int32_t>(b);
    if (emptiest < 0) return best;
    connectivity_.collect(v);
    return {emptiest, connectivity_.cost(distance_, part_[v]) - connectivity_.cost(distance_, emptiest)};
  }

  D distance_;
  int64_t k_;
  const int64_t* cap_;
  const WorkGraph<W>* g_ = nullptr;
  int32_t* part_ = nullptr;
  std::vector<int64_t> load_;
  std::vector<uint8_t> mark_;
  std::vector<int32_t> boundary_, seeds_, kept_;
  std::vector<Move> log_;
  VertexHeap heap_;
  Connectivity<W> connectivity_;
  int64_t moves_ = 0;
};

}  // namespace hopbytes
