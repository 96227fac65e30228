// Iterated local search by several threads, with the result of one thread.
//
// Perturbations of a large mapping seldom touch. The threads try a batch of them at the same time, each from
// the mapping before the batch and in a copy of its own, and undo them. Then they are carried out in their
// order. A trial depends on the cells it has looked at: if an earlier perturbation of the batch has moved a
// task there, or a neighbour of a task there, the perturbation is made anew. Random numbers go on where the
// draw of the one before ended, so a batch also ends where such a draw comes out differently. One thread
// draws the next batch meanwhile.
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "assignment/swap.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

// Fewer tasks are searched in less time than threads need to agree.
inline bool suits_concurrent_perturbations(const GraphShape& g, const Team& team) {
  constexpr int64_t many_tasks = 1 << 13;
  return team.threads() > 1 && g.n >= many_tasks;
}

template <class W, class D> class ConcurrentPerturbations {
 public:
  ConcurrentPerturbations(SwapSearch<W, D>& search, Team& team)
      : search_(search), team_(team), batch_(kLargestBatch * team.threads()), changed_in_(search.cells(), 0) {
    for (int32_t t = 1; t < team.threads(); ++t) {
      mappings_.emplace_back(search.size());
      copies_.emplace_back(search, mappings_.back());
    }
  }
  ConcurrentPerturbations(const ConcurrentPerturbations&) = delete;

  // Goes on until the effort is spent or perturbations touch too often for threads to gain anything. Returns
  // the change of the cost.
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

}  // namespace hopbytes
