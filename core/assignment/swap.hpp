// Searches by exchanges of two tasks: descent over candidate lists, and iterated local search, which perturbs
// a few neighbouring tasks and keeps results that are not worse. swap_refine.hpp combines them with
// annealing.
#pragma once
#include <deque>
#include <limits>

#include "assignment/annealing.hpp"
#include "assignment/partner_search.hpp"

namespace hopbytes {

// How long perturbations go on: until the work is used up, or until a third of it has passed without a gain.
class PerturbationEffort {
 public:
  PerturbationEffort(int64_t arcs, int64_t work) : arcs_(arcs), end_(work + arcs), gained_at_(work) {}
  bool left(int64_t work) const { return work < end_ && work - gained_at_ <= arcs_ / 3; }
  // After a perturbation that changed the cost, when so much work has been done.
  void spent(int64_t change, int64_t work) {
    if (change < 0) gained_at_ = work;
  }

 private:
  int64_t arcs_, end_, gained_at_;
};

// A perturbation that was tried and undone.
struct Trial {
  Rng before{0}, after{0};  // random numbers before and after the draw
  std::vector<std::pair<int32_t, int32_t>> exchanges;
  std::vector<int32_t> cells_of_draw, cells_of_trial;  // on which the draw and the trial depend
  int64_t batch_of_draw = 0;  // number of batches that were carried out before the draw
  int64_t change = 0;
  std::vector<std::pair<int32_t, int32_t>> moved;  // tasks and their new slots; empty if nothing was gained
  SearchCounts counts;
};

template <class W, class D> class SwapSearch {
 public:
  // `basis` is that of another search whose graph, distances, options and numbers of tasks per PE are equal.
  SwapSearch(const Graph<W>& graph, const D& distance, In<int64_t> capacity, Out<int32_t> pe,
             const SwapOptions& options, const Control& control,
             std::shared_ptr<const SwapBasis<D>> basis = nullptr)
      : SwapSearch({graph, distance, capacity, pe, options, control, std::move(basis)},
                   options.all_pairs_up_to, control) {}
  // The same search with the mapping in another array.
  SwapSearch(const SwapSearch& other, Out<int32_t> pe)
      : SwapSearch(SwapState<W, D>(other.state_, pe), other.all_pairs_up_to_, other.control_) {}
  SwapSearch(const SwapSearch&) = delete;

  const SwapState<W, D>& state() const { return state_; }
  // Returns whether every task has all neighbours as near as any mapping permits.
  bool cannot_gain() const {
    for (int32_t v = 0; v < g_.n; ++v)
      if (state_.largest_gain(v) > 0) return false;
    return true;
  }
  bool finished() const { return state_.work_is_left() && !control_.should_stop(); }
  int64_t work() const { return state_.counts().work; }

  // Exchanges tasks that leave a unit with as many that enter it, each with the best remaining partner, and
  // descends. Undoes everything unless the result gains. Returns the change of the cost.
  int64_t attempt(In<int32_t> leave, std::vector<int32_t>& come) {
    constexpr size_t most_partners = 64;
    state_.keep_unit_weights();
    state_.start_log();
    int64_t change = 0;
    for (const int32_t u : leave) {
      Partner best;
      for (size_t i = 0; i < std::min(come.size(), most_partners); ++i) {
        if (!costs_.allowed(u, come[i])) continue;
        const int64_t here = costs_.delta(u, come[i]);
        const int64_t edges = g_.degree(u) + g_.degree(come[i]);
        state_.count_evaluation(edges, edges);
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

  // What the last attempt exchanged, in turn, if it gained.
  In<std::pair<int32_t, int32_t>> exchanged() const { return state_.log(); }

  // Exchanges tasks until no candidate gains, starting from all tasks in random order. If a mapping is given
  // that such a descent left, starts from the tasks that have moved since then and from their neighbours.
  // Returns the change of the cost.
  int64_t descend_everywhere(Rng& rng, In<int32_t> settled = {}) {
    const auto moved = [&](int32_t v) { return settled.empty() || settled[v] != costs_.pe(v); };
    const auto moved_near = [&](int32_t v) {
      const auto near = std::span(g_.adj + g_.start[v], g_.adj + g_.start[v + 1]);
      return moved(v) || std::any_of(near.begin(), near.end(), moved);
    };
    state_.keep_unit_weights();
    auto order = numbers_below<int32_t>(g_.n);
    rng.shuffle(order);
    for (const int32_t v : order)
      if (moved_near(v)) enqueue(v);
    return descend(g_.n <= all_pairs_up_to_);
  }

  // Returns the change of the cost, which may be positive.
  int64_t anneal(int64_t steps, double start_acceptance, Rng& rng) {
    state_.drop_unit_weights();
    return anneal_exchanges(state_, steps, start_acceptance, rng, control_);
  }

  // Perturbs, descends, and undoes the result if it is worse, until the effort is spent. Returns the change.
  int64_t iterated_local_search(PerturbationEffort& effort, Rng& rng) {
    int64_t total = 0;
    while (goes_on(effort)) {
      const int64_t change = perturb(draw(rng));
      effort.spent(change, work());
      total += change;
    }
    return total;
  }
  bool goes_on(const PerturbationEffort& effort) const { return effort.left(work()) && finished(); }

  // The parts of iterated local search, for several threads (swap_refine.hpp).
  void draw(Rng& rng, Trial& trial) {
    const auto exchanges = draw(rng);
    trial.exchanges.assign(exchanges.begin(), exchanges.end());
    trial.cells_of_draw.assign(notes_.cells().begin(), notes_.cells().end());
  }
  // Makes the exchanges of a trial and descends. Undoes everything if the cost rises.
  void perturb(Trial& trial) {
    trial.change = perturb(trial.exchanges);
    trial.moved.clear();
    for (const auto& [u, v] : state_.log())
      trial.moved.emplace_back(u, state_.slots().slot(u)),
          trial.moved.emplace_back(v, state_.slots().slot(v));
  }
  // The same, but undoes everything in any case, and notes the cells that were looked at.
  void attempt(Trial& trial) {
    const SearchCounts counts = state_.counts();
    state_.set_counts({.work_left = std::numeric_limits<int64_t>::max()});
    notes_.start();
    partners_.note_cells(&notes_);
    for (const auto& [u, v] : trial.exchanges)
      for (const int32_t task : {u, v}) note(task);
    perturb(trial);
    partners_.note_cells(nullptr);
    trial.cells_of_trial.assign(notes_.cells().begin(), notes_.cells().end());
    trial.counts = state_.counts();
    state_.undo();
    std::erase_if(trial.moved, [&](const auto& at) { return state_.slots().slot(at.first) == at.second; });
    state_.set_counts(counts);
  }
  // Does what a trial did, whatever it cost then. Returns whether the work that is left suffices.
  bool carry_out(const Trial& trial) {
    SearchCounts counts = state_.counts();
    counts.add(trial.counts);
    if (counts.work_left <= 0) return false;
    state_.follow(trial.moved);
    state_.set_counts(counts);
    return true;
  }
  void follow(In<std::pair<int32_t, int32_t>> moved) { state_.follow(moved); }
  // Calls visit(cell) for the cells of a task and of its neighbours.
  template <class Visit> void visit_cells_around(int32_t task, Visit visit) const {
    visit(state_.cells().cell_of(costs_.pe(task)));
    for (int64_t e = g_.start[task]; e < g_.start[task + 1]; ++e)
      visit(state_.cells().cell_of(costs_.pe(g_.adj[e])));
  }

 private:
  SwapSearch(SwapState<W, D>&& state, int64_t all_pairs_up_to, const Control& control)
      : state_(std::move(state)),
        g_(state_.graph()),
        costs_(state_.costs()),
        all_pairs_up_to_(all_pairs_up_to),
        control_(control),
        partners_(state_),
        notes_(state_.cells().count()),
        queued_(g_.n, 0) {}

  void note(int32_t task) { notes_.add(state_.cells().cell_of(costs_.pe(task))); }
  int32_t any_task(Rng& rng) {
    const auto u = static_cast<int32_t>(rng.below(g_.n));
    note(u);
    return u;
  }

  // Draws exchanges of two to four tasks with tasks next to one of their neighbours, each exchange near the
  // previous one. They have to be made in turn: each is made before the next one is drawn, and all are undone
  // at the end. Notes the cells on which they depend.
  In<std::pair<int32_t, int32_t>> draw(Rng& rng) {
    const SearchCounts counts = state_.counts();
    notes_.start();
    state_.start_log();
    int32_t u = any_task(rng);
    for (int draws = 0; draws < 8 && state_.largest_gain(u) <= 0; ++draws) u = any_task(rng);
    const int64_t length = 2 + static_cast<int64_t>(rng.below(3));
    for (int64_t i = 0; i < length && g_.degree(u) > 0 && !state_.hub(u); ++i) {
      const int32_t w = g_.adj[g_.start[u] + static_cast<int64_t>(rng.below(g_.degree(u)))];
      note(w);
      const In<int32_t> near = state_.slots().tasks(state_.cells().cell_range(costs_.pe(w)));
      const int32_t v = near[rng.below(near.size())];
      if (v != u && !state_.hub(v) && costs_.allowed(u, v)) state_.exchange(u, v);
      u = rng.below(2) ? w : v;
    }
    drawn_.assign(state_.log().begin(), state_.log().end());
    state_.undo();
    state_.set_counts(counts);
    return drawn_;
  }

  // Makes exchanges in turn and descends. Undoes everything if the cost rises. Returns the change.
  int64_t perturb(In<std::pair<int32_t, int32_t>> exchanges) {
    state_.keep_unit_weights();
    state_.start_log();
    state_.count_work(1, 1);
    int64_t change = 0;
    for (const auto& [u, v] : exchanges) {
      change += costs_.delta(u, v);
      exchange_and_enqueue(u, v, false);
    }
    return state_.keep_or_undo(change + descend(false), 1);
  }

  void enqueue(int32_t v) {
    if (!queued_[v]) queued_[v] = 1, queue_.push_back(v);
  }

  void exchange_and_enqueue(int32_t u, int32_t v, bool all_pairs) {
    state_.exchange(u, v);
    state_.count_swap();
    for (const int32_t moved : {u, v}) {
      enqueue(moved);
      // A hub is not queued by its neighbours: it would be evaluated, at the cost of its degree, too often.
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

  SwapState<W, D> state_;
  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  const int64_t all_pairs_up_to_;
  const Control& control_;
  PartnerSearch<W, D> partners_;
  CellNotes notes_;
  std::vector<std::pair<int32_t, int32_t>> drawn_;
  std::deque<int32_t> queue_;
  std::vector<uint8_t> queued_;
};

}  // namespace hopbytes
