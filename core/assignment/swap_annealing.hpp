// Simulated annealing of a mapping by exchanges (Kirkpatrick, Gelatt, Vecchi 1983).
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "assignment/swap_state.hpp"
#include "assignment/temperature.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"

namespace hopbytes {

template <class W, class D> class SwapAnnealing {
 public:
  SwapAnnealing(SwapState<W, D>& state, const Control& control)
      : state_(state), g_(state.graph()), costs_(state.costs()), control_(control) {}

  // Proposes random exchanges near neighbours and accepts losses with falling probability. The temperature
  // falls from the one that accepts the share `start_acceptance` of the losses to the one that accepts
  // `end_acceptance`. Returns the change of the cost, which may be positive.
  int64_t run(int64_t steps, double start_acceptance, Rng& rng) {
    std::vector<int64_t> losses;
    for (int i = 0; i < 4000 && !control_.should_stop(); ++i) {
      const auto [u, v] = propose(rng);
      if (v < 0) continue;
      if (const int64_t change = costs_.delta(u, v); change > 0) losses.push_back(change);
    }
    if (losses.empty()) return 0;
    constexpr int64_t every = 64;  // steps between two reductions of the temperature
    double temperature = temperature_for(losses, start_acceptance);
    const double coolings = static_cast<double>(std::max<int64_t>(1, steps / every));
    const double fall = temperature_for(losses, end_acceptance) / temperature;
    const double cooling = portable_exp(portable_log(fall) / coolings);
    int64_t total = 0;
    for (int64_t i = 1; i <= steps && state_.work_is_left(); ++i) {
      if (i % every == 0) temperature *= cooling;
      if (control_.should_stop()) break;
      const auto [u, v] = propose(rng);
      if (v < 0) continue;
      const int64_t change = costs_.delta(u, v);
      const int64_t edges = g_.degree(u) + g_.degree(v);
      state_.count_evaluation(edges, edges);
      if (change > 0 && static_cast<double>(change) >= temperature * exponential_threshold(rng)) continue;
      state_.exchange(u, v);
      ++swaps_;
      total += change;
    }
    return total;
  }

  int64_t swaps() const { return swaps_; }

 private:
  // Draws a task and another one in a unit that holds a neighbour of the first but not the first itself; -1
  // if there is none.
  std::pair<int32_t, int32_t> propose(Rng& rng) const {
    const int32_t u = static_cast<int32_t>(rng.below(g_.n));
    if (!g_.degree(u) || state_.hub(u)) return {u, -1};
    const int32_t w = g_.adj[g_.start[u] + static_cast<int64_t>(rng.below(g_.degree(u)))];
    const auto there = state_.slots().tasks(state_.cells().random_unit(costs_.pe(u), costs_.pe(w), rng));
    if (there.empty()) return {u, -1};
    const int32_t v = there[rng.below(there.size())];
    return {u, costs_.allowed(u, v) && !state_.hub(v) ? v : -1};
  }

  SwapState<W, D>& state_;
  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  const Control& control_;
  int64_t swaps_ = 0;
};

}  // namespace hopbytes
