// Improves one-task-per-slot mappings by exchanges: descent, annealing chains, iterated local search
// (swap.hpp).
#pragma once
#include "util/parallel.hpp"
#include "assignment/concurrent_perturbations.hpp"
#include "assignment/swap.hpp"

namespace hopbytes {

struct SwapCounts {
  int64_t evaluations = 0, swaps = 0;
  bool settled = false;  // Nothing but descents was done, and the last one ended by itself.
};

// Improves pe in place by exchanges, which keep the number of tasks on every PE, and its maximum load where
// loads differ: descends, anneals from the result in several chains, keeps the cheapest mapping and
// continues from it by iterated local search. `settled` is a mapping as such a descent leaves it, from
// which few tasks have moved since, or empty. Returns the total change of the cost (<= 0). The result does
// not depend on the number of threads.
template <class W, class D>
int64_t swap_refine(const Graph<W>& g, const D& distance, std::span<const int64_t> capacity, uint64_t seed,
                    const SwapOptions& options, const Control& control, std::span<const int32_t> settled,
                    std::span<int32_t> pe, SwapCounts& counts) {
  if (g.n < 2) return 0;
  auto record = [&](const SwapSearch<W, D>& search) {
    counts.evaluations += search.evaluations();
    counts.swaps += search.swaps();
    control.record_work(search.scanned_edges());
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
    basis = search.basis();
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
    SwapCounts counts;
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
    chains[c].counts = {search.evaluations(), search.swaps()};
    spans.of(c).record_work(search.scanned_edges());
  });
  const Chain* best = nullptr;
  for (const Chain& chain : chains) {
    counts.evaluations += chain.counts.evaluations;
    counts.swaps += chain.counts.swaps;
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
