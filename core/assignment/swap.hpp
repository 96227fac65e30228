// Searches by exchanges of two tasks: descent over candidate lists; simulated annealing (Kirkpatrick, Gelatt,
// Vecchi 1983); iterated local search, which perturbs a few neighbouring tasks and keeps results that are not
// worse.
// swap_refine.hpp combines them.
#pragma once
#include <deque>
#include <memory>
#include <utility>

#include "assignment/cells.hpp"
#include "assignment/exchange.hpp"
#include "assignment/temperature.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"
#include "util/vertex_heap.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

struct SwapOptions {
  int64_t all_pairs_up_to = 1024;  // with at most so many tasks every pair is a candidate of the descent
  int64_t hub_degree = 512;  // tasks with more neighbours are partners only of each other
  // otherwise the candidates are the tasks in units of at most so many PEs around a neighbour
  int64_t reach = 64;
  int64_t chains = 0;  // independent annealing chains, of which the cheapest result is kept
  int64_t steps = 0;  // exchanges proposed per task in each chain
  int64_t hot_percent = 0;  // share of the losses that chains accept at the start, 0: one of their own each
  int64_t perturbation_work = 0;  // edges scanned by iterated local search, per arc and task of the graph
  int32_t threads = 1;
  int64_t least_work = int64_t{1} << 32;  // scanned edges before giving up, at least,
  int64_t work_per_arc = 4096;  // and per arc and task of the graph
};

// What searches share that start from mappings with the same number of tasks on every PE.
template <class D> struct SwapBasis {
  CellsOf<D> cells;
  std::vector<int64_t> lower_bound;  // of every task's share of the cost on any PE
};

template <class W, class D> class SwapSearch {
 public:
  // `basis` is that of another search whose graph, distances, options and numbers of tasks per PE are equal.
  SwapSearch(const Graph<W>& graph, const D& distance, std::span<const int64_t> capacity,
             std::span<int32_t> pe, const SwapOptions& options, const Control& control,
             std::shared_ptr<const SwapBasis<D>> basis = nullptr)
      : g_(graph),
        options_(options),
        control_(control),
        exchange_(graph, distance, capacity, pe),
        slots_(pe, static_cast<int64_t>(capacity.size())),
        basis_(basis ? std::move(basis) : new_basis(distance, static_cast<int64_t>(capacity.size()))),
        cells_(basis_->cells),
        queued_(graph.n, 0),
        seen_cell_(cells_.count(), -1),
        work_left_(std::max(options.least_work, options.work_per_arc * (graph.arcs() + graph.n))) {}

  std::shared_ptr<const SwapBasis<D>> basis() const { return basis_; }

  // Returns whether every task has all neighbours as near as any mapping permits.
  bool cannot_gain() const {
    for (int32_t v = 0; v < g_.n; ++v)
      if (largest_gain(v) > 0) return false;
    return true;
  }

  int64_t evaluations() const { return evaluations_; }
  int64_t swaps() const { return swaps_; }
  int64_t work() const { return work_; }

  int64_t distance(int32_t p, int32_t q) const { return exchange_.distance()(p, q); }
  int64_t assignment_cost(int32_t v, int32_t p) const { return exchange_.assignment_cost(v, p); }
  int32_t pe(int32_t v) const { return exchange_.pe(v); }
  std::span<const int32_t> tasks(PeRange range) const { return slots_.tasks(range); }

  // Exchanges tasks that leave a unit with equally many tasks that enter it, each with the best remaining
  // partner; then descends. Undoes everything unless the result gains. Returns the change of the cost.
  int64_t attempt(std::span<const int32_t> leave, std::vector<int32_t>& come) {
    constexpr size_t most_partners = 64;
    log_.clear();
    logging_ = true;
    int64_t change = 0;
    for (const int32_t u : leave) {
      Partner best;
      for (size_t i = 0; i < std::min(come.size(), most_partners); ++i) {
        if (!exchange_.allowed(u, come[i])) continue;
        const int64_t here = exchange_.delta(u, come[i]);
        ++evaluations_;
        count_work(g_.degree(u) + g_.degree(come[i]));
        if (best.task < 0 || here < best.change) best = {here, static_cast<int32_t>(i)};
      }
      if (best.task < 0) continue;
      exchange_and_enqueue(u, come[best.task], false);
      change += best.change;
      come.erase(come.begin() + best.task);
    }
    change += descend(false);
    logging_ = false;
    return keep_or_undo(change, 0);
  }

  // Exchanges tasks until no candidate gains, starting from all tasks in random order. Returns the change of
  // the cost.
  int64_t descend_everywhere(Rng& rng) {
    std::vector<int32_t> order(g_.n);
    std::iota(order.begin(), order.end(), 0);
    rng.shuffle(order);
    for (const int32_t v : order) enqueue(v);
    return descend(g_.n <= options_.all_pairs_up_to);
  }

  // Simulated annealing: proposes random exchanges near neighbours and accepts losses with falling
  // probability. The temperature falls from the one that accepts the share `start_acceptance` of the losses
  // to the one that accepts `end_acceptance`. Returns the change of the cost, which may be positive.
  int64_t anneal(int64_t steps, double start_acceptance, Rng& rng) {
    std::vector<int64_t> losses;
    for (int i = 0; i < 4000 && !control_.should_stop(); ++i) {
      const auto [u, v] = propose(rng);
      if (v < 0) continue;
      if (const int64_t change = exchange_.delta(u, v); change > 0) losses.push_back(change);
    }
    if (losses.empty()) return 0;
    constexpr int64_t every = 64;  // steps between two reductions of the temperature
    double temperature = temperature_for(losses, start_acceptance);
    const double coolings = static_cast<double>(std::max<int64_t>(1, steps / every));
    const double fall = temperature_for(losses, end_acceptance) / temperature;
    const double cooling = portable_exp(portable_log(fall) / coolings);
    int64_t total = 0;
    for (int64_t i = 1; i <= steps && work_left_ > 0; ++i) {
      if (i % every == 0) temperature *= cooling;
      if (control_.should_stop()) break;
      const auto [u, v] = propose(rng);
      if (v < 0) continue;
      const int64_t change = exchange_.delta(u, v);
      ++evaluations_;
      count_work(g_.degree(u) + g_.degree(v));
      if (change > 0 && static_cast<double>(change) >= temperature * exponential_threshold(rng)) continue;
      exchange(u, v);
      ++swaps_;
      total += change;
    }
    return total;
  }

  // Iterated local search: exchanges a few neighbouring tasks at random, descends, and undoes the result if
  // it is worse. It ends when the work is used up, or when a third of the work has passed without a gain.
  // Returns the change of the cost.
  int64_t iterated_local_search(int64_t arcs, Rng& rng) {
    int64_t total = 0, gained_at = work_;
    for (const int64_t end = work_ + arcs; work_ < end && work_left_ > 0 && !control_.should_stop();) {
      if (work_ - gained_at > arcs / 3) break;
      log_.clear();
      logging_ = true;
      count_work(1);
      int64_t change = perturb(rng) + descend(false);
      logging_ = false;
      total += change = keep_or_undo(change, 1);
      if (change < 0) gained_at = work_;
    }
    return total;
  }

 private:
  // The lower bound of a task is the cost with its heaviest neighbours at the nearest PEs.
  std::shared_ptr<const SwapBasis<D>> new_basis(const D& distance, int64_t k) const {
    auto basis = std::make_shared<SwapBasis<D>>(
        SwapBasis<D>{cells_of(distance, k, exchange_.indifferent(), options_.reach, control_),
                     std::vector<int64_t>(g_.n, 0)});
    int64_t most = 0;
    for (int64_t v = 0; v < g_.n; ++v) most = std::max(most, g_.degree(v));
    const std::vector<int64_t> near = nearest_costs(distance, basis->cells, k, slots_, most, control_);
    std::vector<W> weights;
    for (int64_t v = 0; v < g_.n; ++v) {
      if ((v & 4095) == 0 && control_.should_stop()) break;
      weights.assign(g_.weight + g_.start[v], g_.weight + g_.start[v + 1]);
      std::sort(weights.begin(), weights.end(), std::greater<W>());
      int64_t& bound = basis->lower_bound[v];
      for (size_t i = 0; i < weights.size(); ++i) bound += weights[i] * near[i];
      bound += least_assignment_cost(v);
    }
    return basis;
  }

  int64_t least_assignment_cost(int64_t v) const {
    if (!g_.linear_cost) return 0;
    const LinearCost& linear_cost = *g_.linear_cost;
    const auto listed = linear_cost.cost.begin();
    return std::accumulate(listed + linear_cost.start[v], listed + linear_cost.start[v + 1],
                           linear_cost.rest[v], [](int64_t a, int64_t b) { return std::min(a, b); });
  }

  // Draws a task and another one in a unit that holds a neighbour of the first but not the first itself; -1
  // if there is none.
  std::pair<int32_t, int32_t> propose(Rng& rng) const {
    const int32_t u = static_cast<int32_t>(rng.below(g_.n));
    if (!g_.degree(u) || hub(u)) return {u, -1};
    const int32_t w = g_.adj[g_.start[u] + static_cast<int64_t>(rng.below(g_.degree(u)))];
    const auto there = slots_.tasks(cells_.random_unit(exchange_.pe(u), exchange_.pe(w), rng));
    if (there.empty()) return {u, -1};
    const int32_t v = there[rng.below(there.size())];
    return {u, exchange_.allowed(u, v) && !hub(v) ? v : -1};
  }

  // Undoes the logged exchanges if they changed the cost by `most` or more. Returns the remaining change.
  int64_t keep_or_undo(int64_t change, int64_t most) {
    if (change < most) return change;
    for (size_t j = log_.size(); j-- > 0;) exchange(log_[j].first, log_[j].second);
    return 0;
  }

  void count_work(int64_t arcs) { work_ += arcs, work_left_ -= arcs; }

  // Returns an upper bound of the gain of a task by any exchange.
  int64_t largest_gain(int32_t v) const { return exchange_.share(v) - basis_->lower_bound[v]; }
  bool hub(int32_t v) const { return g_.degree(v) > options_.hub_degree; }

  void enqueue(int32_t v) {
    if (!queued_[v]) queued_[v] = 1, queue_.push_back(v);
  }

  void exchange(int32_t u, int32_t v) {
    exchange_.apply(u, v);
    slots_.swap(u, v);
    if (logging_) log_.emplace_back(u, v);
    count_work(g_.degree(u) + g_.degree(v));
  }

  void exchange_and_enqueue(int32_t u, int32_t v, bool all_pairs) {
    exchange(u, v);
    ++swaps_;
    for (const int32_t moved : {u, v}) {
      enqueue(moved);
      // A hub is not queued by its neighbours: it would be evaluated, at the cost of its degree, again and
      // again.
      for (int64_t e = g_.start[moved]; e < g_.start[moved + 1]; ++e)
        if (all_pairs || !hub(g_.adj[e])) enqueue(g_.adj[e]);
    }
  }

  // Returns the cost of u in a cell if its neighbours there are as near as the cell permits.
  int64_t cost_in_cell(int32_t u, int32_t pe) {
    const auto at = place_of(exchange_.distance(), pe);
    const int64_t least = std::max<int64_t>(0, exchange_.indifferent());
    int64_t cost = 0;
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e)
      cost += g_.weight[e] * std::max(least, between(exchange_.distance(), at, exchange_.place(g_.adj[e])));
    count_work(g_.degree(u));
    return cost;
  }

  // Returns the change if u exchanges its PE with v; `gain` is what u gains (linear assignment costs apart)
  // by moving to v's cell.
  int64_t evaluate(int32_t u, int32_t v, int64_t gain) {
    const auto p = exchange_.place(u);
    int64_t change = exchange_.assignment_cost(u, exchange_.pe(v)) +
                     exchange_.assignment_cost(v, exchange_.pe(u)) - gain - exchange_.share(v);
    int64_t shared = 0;
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t w = g_.adj[e];
      change += g_.weight[e] * between(exchange_.distance(), p, exchange_.place(w));
      shared += w == u ? g_.weight[e] : 0;
    }
    ++evaluations_;
    count_work(g_.degree(v));
    if (!shared) return change;
    const int64_t apart = between(exchange_.distance(), p, exchange_.place(v));
    return change + shared * (2 * apart - std::max<int64_t>(0, exchange_.indifferent()));
  }

  struct Partner {
    int64_t change = 0;
    int32_t task = -1;
  };

  void try_cell(int32_t u, int32_t pe, bool all_pairs, Partner& best) {
    const PeRange cell = cells_.cell_range(pe);
    const int64_t gain = exchange_.share(u) - cost_in_cell(u, cell.first);
    const int64_t least = least_assignment_cost(u) - gain;
    for (const int32_t v : slots_.tasks(cell)) {
      if (least - largest_gain(v) >= best.change) continue;
      if ((!all_pairs && hub(v) && !hub(u)) || !exchange_.allowed(u, v)) continue;
      const int64_t change = evaluate(u, v, gain);
      if (change < best.change) best = {change, v};
    }
  }

  Partner best_partner(int32_t u, bool all_pairs) {
    Partner best;
    ++turn_;
    const int32_t here = exchange_.pe(u);
    auto visit = [&](int32_t pe) {
      int64_t& seen = seen_cell_[cells_.cell_of(pe)];
      if (seen == turn_ || control_.should_stop()) return;
      seen = turn_;
      try_cell(u, pe, all_pairs, best);
    };
    if (all_pairs) {
      const int32_t k = static_cast<int32_t>(cells_.pes());
      for (int32_t p = 0; p < k; p = cells_.cell_range(p).last) visit(p);
      return best;
    }
    if (largest_gain(u) > 0)
      for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e)
        cells_.around(here, exchange_.pe(g_.adj[e]), visit);
    return best;
  }

  int64_t descend(bool all_pairs) {
    int64_t total = 0;
    while (!queue_.empty()) {
      const int32_t u = queue_.front();
      queue_.pop_front();
      queued_[u] = 0;
      if (work_left_ <= 0 || control_.should_stop()) {
        for (const int32_t v : queue_) queued_[v] = 0;
        queue_.clear();
        break;
      }
      const Partner best = best_partner(u, all_pairs);
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
    for (int draws = 0; draws < 8 && largest_gain(u) <= 0; ++draws) u = static_cast<int32_t>(rng.below(g_.n));
    const int64_t length = 2 + static_cast<int64_t>(rng.below(3));
    for (int64_t i = 0; i < length && g_.degree(u) > 0 && !hub(u); ++i) {
      const int32_t w = g_.adj[g_.start[u] + static_cast<int64_t>(rng.below(g_.degree(u)))];
      const auto there = slots_.tasks(cells_.cell_range(exchange_.pe(w)));
      const int32_t v = there[rng.below(there.size())];
      if (v != u && !hub(v) && exchange_.allowed(u, v)) {
        total += exchange_.delta(u, v);
        exchange_and_enqueue(u, v, false);
      }
      u = rng.below(2) ? w : v;
    }
    return total;
  }

  const Graph<W>& g_;
  const SwapOptions options_;
  const Control& control_;
  Exchange<W, D> exchange_;
  Slots slots_;
  const std::shared_ptr<const SwapBasis<D>> basis_;
  const CellsOf<D>& cells_;
  std::deque<int32_t> queue_;
  std::vector<uint8_t> queued_;
  std::vector<int64_t> seen_cell_;
  std::vector<std::pair<int32_t, int32_t>> log_;
  bool logging_ = false;
  int64_t turn_ = 0, evaluations_ = 0, swaps_ = 0, work_ = 0;
  // Sufficient to finish on sparse patterns. It bounds the time to seconds where a thousand tasks all
  // communicate in different amounts, which offers small gains for many minutes.
  int64_t work_left_;
};

}  // namespace hopbytes
