// Pairwise repartitioning of one-task-per-slot mappings: the tasks of two units of the machine are bisected
// again. A cheaper bisection is carried out by exchanges, a local search in its neighbourhood follows, and
// everything is undone unless the true cost falls.
//
// Pairs are bisected in batches, which threads share, and carried out in their order. A bisection depends on
// the tasks of its units and on where their neighbours are: if an earlier pair of the batch has changed that,
// the pair is bisected anew. So the result is that of one thread.
#pragma once
#include <algorithm>
#include <memory>

#include "assignment/pair_bisection.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

struct RepartitionOptions {
  int64_t new_bisections = 1;  // new bisections per pair of units, in addition to the present one
  int64_t rounds = 3;  // passes over all pairs; later passes visit only pairs with a unit that changed
  int64_t budget = 0;  // edges to scan
};

template <class W, class D> class PairwiseRepartition {
 public:
  // Unit u consists of the PEs unit_start[u] .. unit_start[u + 1] - 1.
  PairwiseRepartition(const Graph<W>& graph, SwapSearch<W, D>& search, std::span<const int64_t> unit_start,
                      const RepartitionOptions& options, const Control& control)
      : g_(graph),
        search_(search),
        start_(unit_start),
        options_(options),
        control_(control),
        bisections_(control.threads()),
        unit_of_(unit_start.back()),
        changed_in_(unit_start.size(), 0) {
    for (size_t u = 0; u + 1 < unit_start.size(); ++u)
      std::fill(unit_of_.begin() + unit_start[u], unit_of_.begin() + unit_start[u + 1],
                static_cast<int32_t>(u));
  }
  PairwiseRepartition(const PairwiseRepartition&) = delete;

  // Works on pairs of units (first, second, first, ...). Returns the change of the cost and counts the pairs
  // that gained.
  int64_t run(In<int32_t> pairs, uint64_t seed, int64_t& gained) {
    std::vector<uint8_t> changed(start_.size(), 1), next;
    int64_t total = 0;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      next.assign(start_.size(), 0);
      pairs_.clear();
      for (size_t p = 0; p + 1 < pairs.size(); p += 2)
        if (changed[pairs[p]] || changed[pairs[p + 1]])
          pairs_.push_back(
              {pairs[p], pairs[p + 1],
               derive(seed, round * static_cast<int64_t>(pairs.size()) + static_cast<int64_t>(p))});
      for (size_t done = 0; done < pairs_.size(); done += batch_.size()) {
        bisect_batch(done);
        for (size_t i = 0; i < batch_.size(); ++i) {
          const Pair& pair = pairs_[done + i];
          if (work() >= options_.budget || control_.should_stop()) return total;
          const int64_t change = carry_out(pair, batch_[i]);
          if (change < 0) next[pair.first] = next[pair.second] = 1, ++gained;
          total += change;
        }
      }
      changed.swap(next);
      if (std::find(changed.begin(), changed.end(), 1) == changed.end()) break;
    }
    return total;
  }

  int64_t work() const { return own_work_ + search_.work(); }
  int64_t scanned_edges() const { return own_work_ + search_.scanned_edges(); }

 private:
  struct Pair {
    int32_t first, second;
    uint64_t seed;
  };

  Bisected bisect(const Pair& pair, int32_t worker) {
    if (!bisections_[worker])
      bisections_[worker] =
          std::make_unique<PairBisection<W, D>>(g_, search_, start_, options_.new_bisections, control_);
    return bisections_[worker]->run(pair.first, pair.second, pair.seed);
  }

  // Bisects the pairs from `begin` on for the present mapping.
  void bisect_batch(size_t begin) {
    const size_t most = control_.threads() == 1 ? 1 : pairs_per_thread * control_.threads();
    batch_.resize(std::min(most, pairs_.size() - begin));
    ++round_;
    control_.team().run(std::ssize(batch_), [&](int32_t worker, int64_t i) {
      if (!control_.should_stop()) batch_[i] = bisect(pairs_[begin + i], worker);
    });
  }

  // Returns the change of the cost.
  int64_t carry_out(const Pair& pair, Bisected& found) {
    if (changed_in_[pair.first] == round_ || changed_in_[pair.second] == round_) found = bisect(pair, 0);
    own_work_ += found.work;
    control_.record_parallel_work(found.new_work, found.span);
    if (found.leave.empty()) return 0;
    const int64_t change = search_.attempt(found.leave, found.come);
    if (change < 0)
      for (const auto& [u, v] : search_.exchanged())
        for (const int32_t task : {u, v}) note_change(task);
    return change;
  }

  // Notes the units on whose pairs it matters that a task has moved: those of the task and of its neighbours.
  // The unit that it came from is that of a task that was exchanged with it.
  void note_change(int32_t task) {
    changed_in_[unit_of_[search_.pe(task)]] = round_;
    for (int64_t e = g_.start[task]; e < g_.start[task + 1]; ++e)
      changed_in_[unit_of_[search_.pe(g_.adj[e])]] = round_;
  }

  static constexpr size_t pairs_per_thread = 4;

  const Graph<W>& g_;
  SwapSearch<W, D>& search_;
  std::span<const int64_t> start_;
  const RepartitionOptions options_;
  const Control& control_;
  std::vector<std::unique_ptr<PairBisection<W, D>>> bisections_;  // one for each thread
  std::vector<Pair> pairs_;  // of a round
  std::vector<Bisected> batch_;
  std::vector<int32_t> unit_of_;  // of each PE
  std::vector<int64_t> changed_in_;  // the batch in which pairs with a unit had to be bisected anew last
  int64_t round_ = 0;  // batches
  int64_t own_work_ = 0;
};

}  // namespace hopbytes
