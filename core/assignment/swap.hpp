// Searches by exchanges of two tasks: descent over candidate lists, and iterated local search, which perturbs
// a few neighbouring tasks and keeps results that are not worse. swap_refine.hpp combines them with
// annealing.
#pragma once
#include <deque>

#include "assignment/partner_search.hpp"
#include "assignment/swap_annealing.hpp"
#include "assignment/swap_state.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"

namespace hopbytes {

template <class W, class D> class SwapSearch {
 public:
  // `basis` is that of another search whose graph, distances, options and numbers of tasks per PE are equal.
  SwapSearch(const Graph<W>& graph, const D& distance, std::span<const int64_t> capacity,
             std::span<int32_t> pe, const SwapOptions& options, const Control& control,
             std::shared_ptr<const SwapBasis<D>> basis = nullptr)
      : state_(graph, distance, capacity, pe, options, control, std::move(basis)),
        g_(graph),
        costs_(state_.costs()),
        all_pairs_up_to_(options.all_pairs_up_to),
        control_(control),
        partners_(state_),
        queued_(graph.n, 0) {}
  SwapSearch(const SwapSearch&) = delete;

  std::shared_ptr<const SwapBasis<D>> basis() const { return state_.basis(); }
  // Returns whether every task has all neighbours as near as any mapping permits.
  bool cannot_gain() const {
    for (int32_t v = 0; v < g_.n; ++v)
      if (state_.largest_gain(v) > 0) return false;
    return true;
  }
  int64_t evaluations() const { return state_.evaluations(); }
  int64_t swaps() const { return swaps_; }
  int64_t work() const { return state_.work(); }

  int64_t distance(int32_t p, int32_t q) const { return costs_.distance()(p, q); }
  int64_t assignment_cost(int32_t v, int32_t p) const { return costs_.assignment_cost(v, p); }
  int32_t pe(int32_t v) const { return costs_.pe(v); }
  std::span<const int32_t> tasks(PeRange range) const { return state_.slots().tasks(range); }

  // Exchanges tasks that leave a unit with equally many tasks that enter it, each with the best remaining
  // partner; then descends. Undoes everything unless the result gains. Returns the change of the cost.
  int64_t attempt(std::span<const int32_t> leave, std::vector<int32_t>& come) {
    constexpr size_t most_partners = 64;
    state_.start_log();
    int64_t change = 0;
    for (const int32_t u : leave) {
      Partner best;
      for (size_t i = 0; i < std::min(come.size(), most_partners); ++i) {
        if (!costs_.allowed(u, come[i])) continue;
        const int64_t here = costs_.delta(u, come[i]);
        state_.count_evaluation(g_.degree(u) + g_.degree(come[i]));
        if (best.task < 0 || here < best.change) best = {here, static_cast<int32_t>(i)};
      }
      if (best.task < 0) continue;
      exchange_and_enqueue(u, come[best.task], false);
      change += best.change;
      come.erase(come.begin() + best.task);
    }
    change += descend(false);
    return state_.keep_or_undo(change, 0);
  }

  // Exchanges tasks until no candidate gains, starting from all tasks in random order. Returns the change of
  // the cost.
  int64_t descend_everywhere(Rng& rng) {
    std::vector<int32_t> order(g_.n);
    std::iota(order.begin(), order.end(), 0);
    rng.shuffle(order);
    for (const int32_t v : order) enqueue(v);
    return descend(g_.n <= all_pairs_up_to_);
  }

  // Anneals, see SwapAnnealing. Returns the change of the cost, which may be positive.
  int64_t anneal(int64_t steps, double start_acceptance, Rng& rng) {
    SwapAnnealing<W, D> annealing(state_, control_);
    const int64_t change = annealing.run(steps, start_acceptance, rng);
    swaps_ += annealing.swaps();
    return change;
  }

  // Iterated local search: exchanges a few neighbouring tasks at random, descends, and undoes the result if
  // it is worse. It ends when the work is used up, or when a third of the work has passed without a gain.
  // Returns the change of the cost.
  int64_t iterated_local_search(int64_t arcs, Rng& rng) {
    int64_t total = 0, gained_at = state_.work();
    for (const int64_t end = state_.work() + arcs;
         state_.work() < end && state_.work_is_left() && !control_.should_stop();) {
      if (state_.work() - gained_at > arcs / 3) break;
      state_.start_log();
      state_.count_work(1);
      int64_t change = perturb(rng) + descend(false);
      total += change = state_.keep_or_undo(change, 1);
      if (change < 0) gained_at = state_.work();
    }
    return total;
  }

 private:
  void enqueue(int32_t v) {
    if (!queued_[v]) queued_[v] = 1, queue_.push_back(v);
  }

  void exchange_and_enqueue(int32_t u, int32_t v, bool all_pairs) {
    state_.exchange(u, v);
    ++swaps_;
    for (const int32_t moved : {u, v}) {
      enqueue(moved);
      // A hub is not queued by its neighbours: it would be evaluated, at the cost of its degree, again and
      // again.
      for (int64_t e = g_.start[moved]; e < g_.start[moved + 1]; ++e)
        if (all_pairs || !state_.hub(g_.adj[e])) enqueue(g_.adj[e]);
    }
  }

  int64_t descend(bool all_pairs) {
    int64_t total = 0;
    while (!queue_.empty()) {
      const int32_t u = queue_.front();
      queue_.pop_front();
      queued_[u] = 0;
      if (!state_.work_is_left() || control_.should_stop()) {
        for (const int32_t v : queue_) queued_[v] = 0;
        queue_.clear();
        break;
      }
      const Partner best = partners_.best(u, all_pairs);
      if (best.task < 0) continue;
      exchange_and_enqueue(u, best.task, all_pairs);
      total += best.change;
    }
    return total;
  }

  // Perturbation: exchanges two to four tasks with tasks next to one of their neighbours, each exchange near
  // the previous one.
  int64_t perturb(Rng& rng) {
    int64_t total = 0;
    int32_t u = static_cast<int32_t>(rng.below(g_.n));
    for (int draws = 0; draws < 8 && state_.largest_gain(u) <= 0; ++draws)
      u = static_cast<int32_t>(rng.below(g_.n));
    const int64_t length = 2 + static_cast<int64_t>(rng.below(3));
    for (int64_t i = 0; i < length && g_.degree(u) > 0 && !state_.hub(u); ++i) {
      const int32_t w = g_.adj[g_.start[u] + static_cast<int64_t>(rng.below(g_.degree(u)))];
      const auto there = state_.slots().tasks(state_.cells().cell_range(costs_.pe(w)));
      const int32_t v = there[rng.below(there.size())];
      if (v != u && !state_.hub(v) && costs_.allowed(u, v)) {
        total += costs_.delta(u, v);
        exchange_and_enqueue(u, v, false);
      }
      u = rng.below(2) ? w : v;
    }
    return total;
  }

  SwapState<W, D> state_;
  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  const int64_t all_pairs_up_to_;
  const Control& control_;
  PartnerSearch<W, D> partners_;
  std::deque<int32_t> queue_;
  std::vector<uint8_t> queued_;
  int64_t swaps_ = 0;
};

}  // namespace hopbytes
