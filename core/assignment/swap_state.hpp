// A mapping searched by exchanges: what one changes, which tasks are worth one, and the work left.
#pragma once
#include "assignment/exchange.hpp"
#include "assignment/unit_weights.hpp"

namespace hopbytes {

struct SwapOptions {
  int64_t all_pairs_up_to = 1024;  // with at most so many tasks every pair is a candidate of the descent
  // otherwise the candidates are the tasks in units of at most so many PEs around a neighbour
  int64_t reach = 64;
  int64_t chains = 0;  // independent annealing chains, of which the cheapest result is kept
  int64_t steps = 0;  // exchanges proposed per task in each chain
  int64_t hot_percent = 0;  // share of the losses that chains accept at the start, 0: one of their own each
  int64_t perturbation_work = 0;  // edges scanned by iterated local search, per arc and task of the graph
  int64_t least_work = int64_t{1} << 32;  // edges of evaluated tasks before giving up, at least,
  int64_t work_per_arc = 4096;  // and per arc and task of the graph
};

// What searches share that start from mappings with the same number of tasks on every PE.
template <class D> struct SwapBasis {
  CellsOf<D> cells;
  std::vector<int64_t> lower_bound;  // of every task's share of the cost on any PE
};

template <class W, class D> class SwapState {
 public:
  using Cells = CellsOf<D>;

  // `basis` is that of another search whose graph, distances, options and numbers of tasks per PE are equal.
  SwapState(const Graph<W>& graph, const D& distance, In<int64_t> capacity, Out<int32_t> pe,
            const SwapOptions& options, const Control& control, std::shared_ptr<const SwapBasis<D>> basis)
      : g_(graph),
        exchange_(graph, distance, capacity, pe),
        slots_(pe, static_cast<int64_t>(capacity.size())),
        basis_(basis ? std::move(basis)
                     : new_basis(distance, static_cast<int64_t>(capacity.size()), options.reach, control)),
        counts_{.work_left = std::max(options.least_work, options.work_per_arc * (graph.arcs() + graph.n))} {}

  // The same state with the mapping in another array.
  SwapState(const SwapState& other, Out<int32_t> pe) : SwapState(other) { exchange_.continue_in(pe); }
  SwapState(SwapState&&) = default;

  std::shared_ptr<const SwapBasis<D>> basis() const { return basis_; }

  const Graph<W>& graph() const { return g_; }
  const Exchange<W, D>& costs() const { return exchange_; }
  const Slots& slots() const { return slots_; }
  const Cells& cells() const { return basis_->cells; }
  const UnitWeights<W>& unit_weights() const { return unit_weights_; }
  // Hubs are partners only of each other.
  bool hub(int32_t v) const { return g_.degree(v) > kMostNeighbours; }
  // The smallest distance that the cost of a task counts for a neighbour.
  int64_t least_distance() const { return std::max<int64_t>(0, exchange_.farthest_alike()); }

  // Where many partners are evaluated, the costs of tasks of high degree are computed from rows of weights.
  // Many exchanges with few evaluations are made without them.
  void keep_unit_weights() {
    if constexpr (std::is_same_v<D, TreeDistance>)
      if (!std::exchange(keeps_unit_weights_, true))
        unit_weights_.build(g_, cells(), least_distance(), exchange_.pes());
  }
  void drop_unit_weights() { unit_weights_.clear(), keeps_unit_weights_ = false; }

  // Returns an upper bound of the gain of a task by any exchange.
  int64_t largest_gain(int32_t v) const { return exchange_.share(v) - basis_->lower_bound[v]; }

  int64_t least_assignment_cost(int64_t v) const {
    if (!g_.linear_cost) return 0;
    const LinearCost& linear_cost = *g_.linear_cost;
    const auto listed = linear_cost.cost.begin();
    return std::accumulate(listed + linear_cost.start[v], listed + linear_cost.start[v + 1],
                           linear_cost.rest[v], [](int64_t a, int64_t b) { return std::min(a, b); });
  }

  const SearchCounts& counts() const { return counts_; }
  void set_counts(const SearchCounts& counts) { counts_ = counts; }
  void count_swap() { ++counts_.swaps; }
  bool work_is_left() const { return counts_.work_left > 0; }
  void count_work(int64_t arcs, int64_t scanned) {
    counts_.work += arcs, counts_.work_left -= arcs, counts_.scanned += scanned;
  }
  void count_evaluation(int64_t arcs, int64_t scanned) { ++counts_.evaluations, count_work(arcs, scanned); }

  void exchange(int32_t u, int32_t v) {
    const int32_t p = exchange_.pe(u), q = exchange_.pe(v);
    int64_t scanned = g_.degree(u) + g_.degree(v);
    exchange_.apply(u, v);
    slots_.swap(u, v);
    if (!unit_weights_.empty())
      scanned += unit_weights_.follow(g_, u, p, q) + unit_weights_.follow(g_, v, q, p);
    if (logging_) log_.emplace_back(u, v);
    count_work(g_.degree(u) + g_.degree(v), scanned);
  }

  // Notes exchanges from now on.
  void start_log() { log_.clear(), logging_ = true; }
  // Undoes the exchanges since then if they changed the cost by `most` or more. Returns the remaining change.
  int64_t keep_or_undo(int64_t change, int64_t most) {
    logging_ = false;
    if (change < most) return change;
    undo();
    return 0;
  }
  void undo() {
    logging_ = false;
    for (size_t j = log_.size(); j-- > 0;) exchange(log_[j].first, log_[j].second);
    log_.clear();
  }
  // What was noted and has not been undone.
  In<std::pair<int32_t, int32_t>> log() const { return log_; }

  // Puts tasks into the given slots, in turn.
  void follow(In<std::pair<int32_t, int32_t>> moved) {
    for (const auto& [task, slot] : moved)
      if (const int32_t there = slots_.task(slot); there != task) exchange(task, there);
  }

 private:
  static constexpr int64_t kMostNeighbours = 512;  // of a task that is no hub

  SwapState(const SwapState&) = default;

  // The cost of every task with its heaviest neighbours at the nearest PEs; lower if the control stops it.
  std::shared_ptr<const SwapBasis<D>> new_basis(const D& distance, int64_t k, int64_t reach,
                                                const Control& control) const {
    auto basis = std::make_shared<SwapBasis<D>>(SwapBasis<D>{
        Cells(distance, k, exchange_.farthest_alike(), reach, control), std::vector<int64_t>(g_.n, 0)});
    int64_t most = 0;
    for (int64_t v = 0; v < g_.n; ++v) most = std::max(most, g_.degree(v));
    const std::vector<int64_t> near = nearest_costs(distance, basis->cells, k, slots_, most, control);
    for (int64_t v = 0; v < g_.n; ++v) {
      if ((v & 4095) == 0 && control.should_stop()) break;
      std::vector<W> weights = g_.weight.copy(g_.start[v], g_.start[v + 1]);
      std::sort(weights.begin(), weights.end(), std::greater<W>());
      int64_t& bound = basis->lower_bound[v];
      for (size_t i = 0; i < weights.size(); ++i) bound += weights[i] * near[i];
      bound += least_assignment_cost(v);
    }
    return basis;
  }

  const Graph<W>& g_;
  Exchange<W, D> exchange_;
  Slots slots_;
  const std::shared_ptr<const SwapBasis<D>> basis_;
  UnitWeights<W> unit_weights_;
  bool keeps_unit_weights_ = false;
  std::vector<std::pair<int32_t, int32_t>> log_;
  bool logging_ = false;
  SearchCounts counts_;
};

}  // namespace hopbytes
