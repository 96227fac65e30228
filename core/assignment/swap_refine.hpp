// Improves one-task-per-slot mappings: descent, annealing chains, iterated local search (swap.hpp).
#pragma once
#include "assignment/swap.hpp"

namespace hopbytes {

// Fewer tasks are searched in less time than threads need to agree.
inline bool suits_concurrent_perturbations(const GraphShape& g, const Team& team) {
  constexpr int64_t many_tasks = 1 << 13;
  return team.threads() > 1 && g.n >= many_tasks;
}

// Iterated local search by several threads, with the result of one thread. Perturbations of a large mapping
// seldom touch. The threads try a batch of them at the same time, each from the mapping before the batch and
// in a copy of its own, and undo them. Then they are carried out in their order. A trial depends on the cells
// it has looked at: if an earlier perturbation of the batch has moved a task there, or a neighbour of a task
// there, the perturbation is made anew. Random numbers go on where the draw of the one before ended, so a
// batch also ends where such a draw comes out differently. One thread draws the next batch meanwhile.
template <class W, class D> class ConcurrentPerturbations {
 public:
  ConcurrentPerturbations(SwapSearch<W, D>& search, Team& team)
      : search_(search),
        team_(team),
        batch_(kLargestBatch * team.threads()),
        changed_in_(search.state().cells().count(), 0) {
    for (int32_t t = 1; t < team.threads(); ++t) {
      mappings_.emplace_back(search.state().graph().n);
      copies_.emplace_back(search, mappings_.back());
    }
  }
  ConcurrentPerturbations(const ConcurrentPerturbations&) = delete;

  // Goes on until the effort is spent or perturbations touch too often for a gain. Returns the change.
  int64_t run(PerturbationEffort& effort, Rng& rng, const Control& control) {
    const int64_t least_batch = kSmallestBatch * team_.threads();
    int64_t total = 0;
    for (bool drawn = false; batch_ >= least_batch && search_.goes_on(effort);) {
      if (!drawn) draw(trials_, rng);
      std::atomic<int64_t> next{0};
      parallel_for(team_.threads(), team_, [&](int64_t t) {
        SwapSearch<W, D>& own = t == 0 ? search_ : copies_[t - 1];
        if (t > 0) own.follow(moved_);
        else draw(next_trials_, trials_.back().after);
        for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(trials_);)
          own.attempt(trials_[i]);
      });
      if (control.should_stop()) break;
      total += carry_out(effort, rng);
      drawn = rng == next_trials_.front().before;
      trials_.swap(next_trials_);
    }
    return total;
  }

 private:
  // Perturbations of a batch, for each thread.
  static constexpr int64_t kLargestBatch = 32, kSmallestBatch = 4;

  // Draws a batch; the random numbers that follow begin at the end of the last one.
  void draw(std::vector<Trial>& trials, Rng rng) {
    trials.resize(batch_);
    for (Trial& trial : trials) {
      trial.before = rng;
      search_.draw(rng, trial);
      trial.after = rng;
      trial.batch_of_draw = round_;
    }
  }

  // Whether nothing has changed in the cells on which the draw and the trial depend.
  bool holds(const Trial& trial) const {
    const auto changed_since = [this](const std::vector<int32_t>& cells, int64_t round) {
      return std::any_of(cells.begin(), cells.end(), [&](int32_t cell) { return changed_in_[cell] > round; });
    };
    return !changed_since(trial.cells_of_draw, trial.batch_of_draw) &&
           !changed_since(trial.cells_of_trial, round_ - 1);
  }

  // Returns the change of the cost.
  int64_t carry_out(PerturbationEffort& effort, Rng& rng) {
    moved_.clear();
    ++round_;
    int64_t total = 0, repeated = 0;
    for (Trial& trial : trials_) {
      rng = trial.before;
      if (!search_.goes_on(effort)) return total;
      if (holds(trial) && search_.carry_out(trial)) {
        rng = trial.after;
      } else {
        ++repeated;
        search_.draw(rng, trial);
        search_.perturb(trial);
      }
      effort.spent(trial.change, search_.work());
      total += trial.change;
      moved_.insert(moved_.end(), trial.moved.begin(), trial.moved.end());
      for (const auto& [task, slot] : trial.moved)
        search_.visit_cells_around(task, [&](int32_t cell) { changed_in_[cell] = round_; });
      if (rng != trial.after) break;
    }
    if (4 * repeated > std::ssize(trials_)) batch_ /= 2;
    return total;
  }

  SwapSearch<W, D>& search_;
  Team& team_;
  int64_t batch_;
  std::deque<std::vector<int32_t>> mappings_;
  std::deque<SwapSearch<W, D>> copies_;  // of the search, for the other threads
  std::vector<Trial> trials_, next_trials_;
  std::vector<std::pair<int32_t, int32_t>> moved_;  // in the last batch: tasks and their slots
  std::vector<int64_t> changed_in_;  // the batch in which something changed in a cell last
  int64_t round_ = 0;  // batches carried out
};

struct SwapCounts : SearchCounts {
  bool settled = false;  // Nothing but descents was done, and the last one ended by itself.
};

// Improves pe in place by exchanges, which keep the number of tasks on every PE, and its maximum load where
// loads differ: descends, anneals from the result in several chains, keeps the cheapest mapping and
// continues from it by iterated local search. `settled` is a mapping as such a descent leaves it, from
// which few tasks have moved since, or empty. Returns the total change of the cost (<= 0). The result does
// not depend on the number of threads.
template <class W, class D>
int64_t swap_refine(const Graph<W>& g, const D& distance, In<int64_t> capacity, uint64_t seed,
                    const SwapOptions& options, const Control& control, In<int32_t> settled, Out<int32_t> pe,
                    SwapCounts& counts) {
  if (g.n < 2) return 0;
  auto record = [&](const SwapSearch<W, D>& search) {
    counts.add(search.state().counts());
    control.record_work(search.state().counts().scanned);
  };
  const auto perturb = [&](SwapSearch<W, D>& search, Rng& rng) {
    int64_t change = 0;
    PerturbationEffort effort(options.perturbation_work * (g.arcs() + g.n), search.work());
    if (suits_concurrent_perturbations(g, control.team()))
      change += ConcurrentPerturbations<W, D>(search, control.team()).run(effort, rng, control);
    return change + search.iterated_local_search(effort, rng);
  };
  int64_t total = 0;
  std::shared_ptr<const SwapBasis<D>> basis;  // Its preparation takes longer than a descent on many PEs.
  {
    SwapSearch<W, D> search(g, distance, capacity, pe, options, control);
    basis = search.state().basis();
    Rng rng(seed);
    total += search.descend_everywhere(rng, settled);
    counts.settled = options.chains < 1 && options.perturbation_work == 0 && search.finished();
    if (options.chains < 1 && (std::is_same_v<D, TreeDistance> || !search.cannot_gain()))
      total += perturb(search, rng);
    record(search);
    // On trees the search goes on, since it may find another mapping of the same cost.
    if (!std::is_same_v<D, TreeDistance> && search.cannot_gain()) return total;
  }
  if (options.chains < 1 || control.should_stop()) return total;
  struct Chain {
    std::vector<int32_t> pe;
    int64_t change = 0;
    SearchCounts counts;
  };
  std::vector<Chain> chains(options.chains);
  SideBySide spans(control, options.chains);
  parallel_for(options.chains, control.team(), [&](int64_t c) {
    if (c > 0 && control.should_stop()) return;
    chains[c].pe.assign(pe.begin(), pe.end());
    SwapSearch<W, D> search(g, distance, capacity, chains[c].pe, options, control, basis);
    Rng rng(derive(seed, c));
    const double hot = options.hot_percent > 0 ? static_cast<double>(options.hot_percent) / 100
                                               : start_acceptances[c % std::size(start_acceptances)];
    chains[c].change += search.anneal(options.steps * g.n, hot, rng);
    chains[c].change += search.descend_everywhere(rng);
    chains[c].counts = search.state().counts();
    spans.of(c).record_work(chains[c].counts.scanned);
  });
  const Chain* best = nullptr;
  for (const Chain& chain : chains) {
    counts.add(chain.counts);
    if (chain.change < (best ? best->change : 0)) best = &chain;
  }
  if (best) std::copy(best->pe.begin(), best->pe.end(), pe.begin()), total += best->change;
  if (control.should_stop()) return total;
  SwapSearch<W, D> search(g, distance, capacity, pe, options, control, basis);
  Rng rng(derive(seed, options.chains));
  total += perturb(search, rng);
  record(search);
  return total;
}

}  // namespace hopbytes
