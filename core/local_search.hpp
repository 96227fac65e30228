// Localised multi-try FM on the communication cost, for k blocks, with rollback.
//
// One round visits every boundary vertex as a seed. A search starts from a few seeds, repeatedly moves the
// vertex with the largest gain (which may be negative), locks it, updates its neighbours, and stops after
// `fruitless_moves` moves without a new best; then it rolls back to the best state. A vertex moves at most
// once per round. (Sanders, Schulz 2011, "multi-try FM"; here on J for any distance. Inside a search a block
// may be overloaded by `slack`, so that exactly full blocks can exchange vertices.)
#pragma once
#include <limits>
#include <queue>

#include "connectivity.hpp"
#include "control.hpp"
#include "rng.hpp"
#include "vertex_heap.hpp"

namespace hopbytes {

struct SearchOptions {
  int32_t barren = 20;  // consecutive searches without a gain that end a round
  int32_t venture_percent = 0;  // temporary overload of unconstrained FM, see uncoarsening.hpp; 0: off
  int32_t rounds = 3;
  int32_t patience = 40;  // moves without a new best that end a search
  int32_t seeds = 8;  // boundary vertices from which a search starts
  int64_t slack = 0;  // permitted overload of a block inside a search
  int32_t hub_degree = 512;  // Neighbours of a larger degree are not re-evaluated at every move.
};

template <class W, class D> class LocalSearch {
 public:
  struct Move { int32_t vertex, from; };

  LocalSearch(D distance, int64_t k, const int64_t* cap) : distance_(distance), k_(k), cap_(cap), load_(k, 0), connectivity_(k) {}

  const std::vector<int64_t>& loads() const { return load_; }

  // Ignores linear assignment costs, for partitions into other blocks than those the costs refer to.
  void edges_only() { edges_only_ = true; }

  // Sets the maximum block weights for the following calls (k entries, kept by reference).
  void obey(const int64_t* cap) { cap_ = cap; }

  // Attaches the partition of a graph, which is kept by reference and changed in place.
  void adopt(const WorkGraph<W>& g, int32_t* part) {
    g_ = &g, part_ = part;
    unary_ = edges_only_ ? nullptr : g.unary.get();
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

  // Runs rounds over the boundary. `candidate` (may be null) marks the only vertices that can lie on the
  // boundary. Returns the gain. Afterwards `boundary()` holds the boundary vertices.
  int64_t run(const SearchOptions& options, const uint8_t* candidate, Rng& rng, const Control& control) {
    find_boundary(candidate);
    return resume(options, rng, control);
  }

  // Continues where the boundary is known, as after run().
  int64_t resume(const SearchOptions& options, Rng& rng, const Control& control) {
    if (overload() > 0) rebalance();
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

  // Returns the cost of the partition. The boundary suffices, because it contains both ends of every cut
  // edge.
  int64_t cost() const {
    int64_t total = unary_cost(*g_, part_);
    for (int32_t v : boundary_)
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        if (u > v && part_[u] != part_[v]) total += g_->weight[e] * distance_(part_[v], part_[u]);
      }
    return total;
  }

  void find_boundary(const uint8_t* candidate) {
    boundary_.clear();
    for (int64_t v = 0; v < g_->n; ++v)
      if ((!candidate || candidate[v] || restless(v)) && on_boundary(static_cast<int32_t>(v))) boundary_.push_back(static_cast<int32_t>(v));
  }

  // After a round only the old boundary, the moved vertices and their neighbours can lie on the boundary. The
  // next round starts from where a vertex moved.
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

  // Moves vertices out of overloaded blocks at the least loss per load until no block is overloaded or no
  // move fits. It overloads no other block. The boundary must be known, and is known afterwards.
  void rebalance() {
    kept_.clear();
    // Collects the vertices of all overloaded blocks in one pass and keeps the other blocks in a heap by
    // their room, so that neither the vertices nor the blocks are scanned repeatedly.
    std::vector<std::vector<int32_t>> inside(k_);
    for (int64_t v = 0; v < g_->n; ++v)
      if (load_[part_[v]] > cap_[part_[v]] && g_->load[v] > 0) inside[part_[v]].push_back(static_cast<int32_t>(v));
    rooms_ = {};
    for (int64_t b = 0; b < k_; ++b)
      if (load_[b] <= cap_[b]) rooms_.push({cap_[b] - load_[b], static_cast<int32_t>(b)});
    for (int64_t b = 0; b < k_; ++b) {
      if (load_[b] <= cap_[b]) continue;
      drain(static_cast<int32_t>(b), inside[b]);
      if (load_[b] <= cap_[b]) rooms_.push({cap_[b] - load_[b], static_cast<int32_t>(b)});
    }
    refresh_boundary();
  }

  int64_t moves() const { return moves_; }
  int64_t arcs_seen() const { return arcs_seen_; }

 private:
  struct Choice { int32_t block = -1; int64_t gain = std::numeric_limits<int64_t>::min(); };

  bool on_boundary(int32_t v) const {
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
      if (part_[g_->adj[e]] != part_[v]) return true;
    return restless(v);
  }

  bool restless(int64_t v) const { return unary_ && unary_->restless(v, part_[v]); }

  // Returns the best permitted block for v among the adjacent blocks with room and those with a linear
  // assignment cost of their own. Ties go to the block with the smaller load.
  Choice choose(int32_t v, int64_t slack) {
    arcs_seen_ += g_->degree(v);
    connectivity_.collect(v);
    const int32_t own = part_[v];
    Choice best;
    int64_t own_cost = -1;
    const bool crowded = load_[own] > cap_[own];
    auto consider = [&](int32_t b) {
  // The slack is subtracted on the left, because a maximum block weight may be as large as an int64.
      if (b == own || load_[b] + g_->load[v] - (crowded ? 0 : slack) > cap_[b]) return;
      if (unary_ && !unary_->allows(v, b)) return;
      if (own_cost < 0) own_cost = cost(v, own);
      const int64_t gain = own_cost - cost(v, b);
      if (gain > best.gain || (gain == best.gain && load_[b] < load_[best.block])) best = {b, gain};
    };
    for (int32_t b : connectivity_.promising()) consider(b);
    if (unary_)
      for (int32_t b : unary_->listed(v)) consider(b);
    return best;
  }

  // Returns the cost of the selected vertex v on block b. The penalty of a forbidden block is left out: sums
  // of gains could overflow with it.
  int64_t cost(int32_t v, int32_t b) const {
    const int64_t edges = connectivity_.cost(distance_, b);
    if (!unary_) return edges;
    const int64_t here = (*unary_)(v, b);
    return here >= Unary::kForbidden ? edges : edges + here;
  }

  void move(int32_t v, int32_t to) {
    load_[part_[v]] -= g_->load[v];
    load_[to] += g_->load[v];
    connectivity_.moved(v, part_[v], to);
    part_[v] = to;
    arcs_seen_ += g_->degree(v);
    ++moves_;
  }

  int64_t run_round(const SearchOptions& options, Rng& rng, const Control& control) {
    std::fill(mark_.begin(), mark_.end(), 0);
    kept_.clear();
    rng.shuffle(seeds_);
    int64_t total = 0;
    size_t next = 0;
    int32_t barren = 0;
    while (next < seeds_.size() && barren < options.barren && !control.hurry()) {
      for (int32_t planted = 0; planted < std::max(1, options.seeds) && next < seeds_.size(); ++next) {
        const int32_t v = seeds_[next];
        if (mark_[v]) continue;
        const Choice choice = choose(v, options.slack);
        if (choice.block < 0) continue;
        heap_.push(v, choice.gain);
        ++planted;
      }
      const int64_t gain = search(options);
      total += gain;
      barren = gain > 0 ? 0 : barren + 1;
    }
    return total;
  }

  int64_t search(const SearchOptions& options) {
    log_.clear();
    int64_t gain = 0, best_gain = 0;
    size_t best_length = 0;
    int64_t over = 0;  // overload relative to the start of the search
    int32_t fruitless = 0;
    while (!heap_.empty() && fruitless <= options.patience) {
      const int32_t v = heap_.top();
      const Choice choice = choose(v, options.slack);
      if (choice.block < 0) {
        heap_.pop();
        continue;
      }
      if (choice.gain < heap_.top_key()) {  // Loads have changed since the vertex was queued.
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
      mark_[log_.back().vertex] = 0;  // later searches of this round may move it
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

  void drain(int32_t block, const std::vector<int32_t>& inside) {
    for (int32_t v : inside)
      if (const Choice choice = evict(v); choice.block >= 0) heap_.push(v, per_load(choice.gain, g_->load[v]));
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
      kept_.push_back(v);
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        // A hub is re-evaluated only when it comes to the top of the heap: evaluating it costs O(degree), too
        // much for every neighbour that leaves.
        if (!heap_.contains(u) || g_->degree(u) > SearchOptions{}.hub_degree) continue;
        const Choice again = evict(u);
        if (again.block >= 0) heap_.change(u, per_load(again.gain, g_->load[u]));
      }
    }
    heap_.clear();
  }

  static int64_t per_load(int64_t gain, int64_t load) { return gain < 0 ? gain / std::max<int64_t>(load, 1) : gain; }

  // Returns where v moves if it has to leave its block: the best adjacent block with room, else the block
  // with the most room.
  Choice evict(int32_t v) {
    Choice best = choose(v, 0);
    if (best.block >= 0) return best;
    const int32_t emptiest = most_room();
    if (emptiest < 0 || g_->load[v] > cap_[emptiest] - load_[emptiest]) return best;
    if (unary_ && !unary_->allows(v, emptiest)) return best;
    connectivity_.collect(v);
    return {emptiest, cost(v, part_[v]) - cost(v, emptiest)};
  }

  // Returns the block with the most room (of equal ones the first), -1 if all blocks are overloaded. While
  // blocks are drained, rooms only shrink; the block being drained is not in the heap.
  int32_t most_room() {
    while (!rooms_.empty()) {
      const Room top = rooms_.top();
      const int64_t room = cap_[top.block] - load_[top.block];
      if (room == top.room) return top.block;
      rooms_.pop();
      rooms_.push({room, top.block});
    }
    return -1;
  }

  struct Room {
    int64_t room;
    int32_t block;
    bool operator<(const Room& other) const { return room != other.room ? room < other.room : block > other.block; }
  };

  D distance_;
  int64_t k_;
  const int64_t* cap_;
  const WorkGraph<W>* g_ = nullptr;
  const Unary* unary_ = nullptr;
  bool edges_only_ = false;
  int32_t* part_ = nullptr;
  std::vector<int64_t> load_;
  std::vector<uint8_t> mark_;
  std::vector<int32_t> boundary_, seeds_, kept_;
  std::vector<Move> log_;
  std::priority_queue<Room> rooms_;  // entries may be outdated, see most_room
  VertexHeap heap_;
  Connectivity<W> connectivity_;
  int64_t moves_ = 0, arcs_seen_ = 0;
};

}  // namespace hopbytes
