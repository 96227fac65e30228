// Localised multi-try FM on the communication cost, for k blocks, with rollback.
//
// One round visits every boundary vertex as a seed. A search starts from a few seeds, repeatedly moves the
// vertex with the largest gain (which may be negative), locks it, updates its neighbours, and stops after
// `fruitless_moves` moves without a new best; then it rolls back to the best state. A vertex moves at most
// once per round. (Sanders, Schulz 2011, "multi-try FM"; here on J for any distance. Inside a search a block
// may be overloaded by `slack`, so that exactly full blocks can exchange vertices.)
#pragma once
#include "control.hpp"
#include "rebalance.hpp"
#include "rng.hpp"

namespace hopbytes {

struct SearchOptions {
  int32_t fruitless_searches = 20;  // consecutive searches without a gain that end a round
  int32_t overload_percent = 0;     // temporary overload of unconstrained FM, see uncoarsening.hpp; 0: off
  int32_t rounds = 3;
  int32_t fruitless_moves = 40;  // moves without a new best that end a search
  int32_t seeds = 8;             // boundary vertices from which a search starts
  int64_t slack = 0;             // permitted overload of a block inside a search
};

template <class W, class D> class LocalSearch {
 public:
  LocalSearch(D distance, int64_t k, const int64_t* max_block_weight)
      : state_(distance, k, max_block_weight) {}

  void ignore_linear_costs() { state_.ignore_linear_costs(); }
  void set_max_block_weights(const int64_t* max_block_weight) {
    state_.set_max_block_weights(max_block_weight);
  }

  // Attaches the partition of a graph, which is kept by reference and changed in place.
  void attach(const WorkGraph<W>& g, int32_t* part) {
    state_.attach(g, part);
    heap_.resize(g.n);
    mark_.assign(g.n, 0);
  }

  const std::vector<int64_t>& loads() const { return state_.loads(); }
  int64_t overload() const { return state_.overload(); }
  int64_t moves() const { return state_.moves(); }
  int64_t scanned_edges() const { return state_.scanned_edges(); }
  int64_t cost() const { return state_.total_cost(boundary_); }
  const std::vector<int32_t>& boundary() const { return boundary_; }

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
    for (int32_t round = 0; round < options.rounds && !control.should_stop(); ++round) {
      const int64_t gain = run_round(options, rng, control);
      total += gain;
      refresh_boundary();
      if (gain <= 0) break;
    }
    return total;
  }

  void find_boundary(const uint8_t* candidate) {
    boundary_.clear();
    for (int32_t v = 0; v < state_.graph().n; ++v)
      if ((!candidate || candidate[v] || state_.has_cheaper_block(v)) && state_.on_boundary(v))
        boundary_.push_back(v);
  }

  // Moves vertices out of overloaded blocks. The boundary must be known, and is known afterwards.
  void rebalance() {
    moved_.clear();
    Rebalancer<W, D>(state_, heap_, moved_).run();
    refresh_boundary();
  }

 private:
  using Choice = typename PartitionState<W, D>::Choice;
  struct Move { int32_t vertex, from; };

  // After a round only the old boundary, the moved vertices and their neighbours can lie on the boundary. The
  // next round starts from where a vertex moved.
  void refresh_boundary() {
    const WorkGraph<W>& g = state_.graph();
    std::fill(mark_.begin(), mark_.end(), 0);
    std::vector<int32_t> suspects;
    auto suspect = [&](int32_t v) {
      if (!mark_[v]) mark_[v] = 1, suspects.push_back(v);
    };
    for (int32_t v : moved_) {
      suspect(v);
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) suspect(g.adj[e]);
    }
    const size_t near_moves = suspects.size();
    for (int32_t v : boundary_) suspect(v);
    boundary_.clear();
    seeds_.clear();
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (!state_.on_boundary(suspects[i])) continue;
      boundary_.push_back(suspects[i]);
      if (i < near_moves) seeds_.push_back(suspects[i]);
    }
    std::sort(boundary_.begin(), boundary_.end());
    std::sort(seeds_.begin(), seeds_.end());
  }

  int64_t run_round(const SearchOptions& options, Rng& rng, const Control& control) {
    std::fill(mark_.begin(), mark_.end(), 0);
    moved_.clear();
    rng.shuffle(seeds_);
    int64_t total = 0;
    size_t next = 0;
    int32_t fruitless = 0;
    while (next < seeds_.size() && fruitless < options.fruitless_searches && !control.should_stop()) {
      for (int32_t queued = 0; queued < std::max(1, options.seeds) && next < seeds_.size(); ++next) {
        const int32_t v = seeds_[next];
        if (mark_[v]) continue;
        const Choice choice = state_.choose(v, options.slack);
        if (choice.block < 0) continue;
        heap_.push(v, choice.gain);
        ++queued;
      }
      const int64_t gain = search(options);
      total += gain;
      fruitless = gain > 0 ? 0 : fruitless + 1;
    }
    return total;
  }

  int64_t search(const SearchOptions& options) {
    log_.clear();
    int64_t gain = 0, best_gain = 0;
    size_t best_length = 0;
    int64_t over = 0;  // overload relative to the start of the search
    int32_t fruitless = 0;
    while (!heap_.empty() && fruitless <= options.fruitless_moves) {
      const int32_t v = heap_.top();
      const Choice choice = state_.choose(v, options.slack);
      if (choice.block < 0) {
        heap_.pop();
        continue;
      }
      if (choice.gain < heap_.top_key()) {  // Loads have changed since the vertex was queued.
        heap_.change(v, choice.gain);
        if (heap_.top() != v) continue;
      }
      heap_.pop();
      const int32_t from = state_.block(v);
      over -= state_.excess(from) + state_.excess(choice.block);
      state_.move(v, choice.block);
      over += state_.excess(from) + state_.excess(choice.block);
      mark_[v] = 1;
      log_.push_back({v, from});
      gain += choice.gain;
      if (over <= 0 && (gain > best_gain || over < 0)) {
        best_gain = gain, best_length = log_.size(), fruitless = 0;
        if (over < 0) over = 0;
      } else {
        ++fruitless;
      }
      update_neighbours(v, options.slack);
    }
    heap_.clear();
    while (log_.size() > best_length) {
      state_.move(log_.back().vertex, log_.back().from);
      mark_[log_.back().vertex] = 0;  // Later searches of this round may move it.
      log_.pop_back();
    }
    for (const Move& m : log_) moved_.push_back(m.vertex);
    return best_gain;
  }

  void update_neighbours(int32_t v, int64_t slack) {
    const WorkGraph<W>& g = state_.graph();
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (mark_[u] || g.degree(u) > kHubDegree) continue;
      const Choice choice = state_.choose(u, slack);
      if (choice.block < 0) {
        if (heap_.contains(u)) heap_.remove(u);
      } else if (heap_.contains(u)) {
        heap_.change(u, choice.gain);
      } else {
        heap_.push(u, choice.gain);
      }
    }
  }

  PartitionState<W, D> state_;
  std::vector<uint8_t> mark_;
  std::vector<int32_t> boundary_, seeds_;
  std::vector<int32_t> moved_;  // permanently, by the last round or rebalancing
  std::vector<Move> log_;
  VertexHeap heap_;
};

}  // namespace hopbytes
