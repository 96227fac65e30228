// Simulated annealing of a mapping by exchanges (Kirkpatrick, Gelatt, Vecchi 1983).
#pragma once
#include "assignment/swap_state.hpp"
#include "util/portable_math.hpp"

namespace hopbytes {

// Annealing begins at temperatures that accept these shares of the losses (each chain takes the next one)
// and ends where `end_acceptance` of them is accepted. Hot starts find other solutions; cool ones keep more.
inline constexpr double start_acceptances[] = {0.6, 0.75, 0.5, 0.85};
inline constexpr double end_acceptance = 0.002;

// Returns the temperature at which this share of the losses is accepted on average, by bisection. The search
// ends when the interval cannot be divided further; a sum of shares that has reached its target ends early.
inline double temperature_for(const std::vector<int64_t>& losses, double share) {
  // Few losses differ on regular patterns, so that the exponential function is evaluated once per value.
  std::vector<int64_t> values(losses);
  sort_and_deduplicate(values);
  std::vector<int32_t> value_of(losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto found = std::lower_bound(values.begin(), values.end(), losses[i]);
    value_of[i] = static_cast<int32_t>(found - values.begin());
  }
  const double target = share * static_cast<double>(losses.size());
  std::vector<double> acceptance(values.size());
  double low = 1e-3, high = 1e19;
  for (int i = 0; i < 100; ++i) {
    const double temperature = std::sqrt(low * high);
    for (size_t j = 0; j < values.size(); ++j)
      acceptance[j] = portable_exp(-static_cast<double>(values[j]) / temperature);
    double accepted = 0;
    for (size_t j = 0; j < losses.size() && accepted < target; ++j) accepted += acceptance[value_of[j]];
    double& end = accepted < target ? low : high;
    if (end == temperature) break;
    end = temperature;
  }
  return low;
}

// Draws the largest loss, in units of the temperature, that is accepted: exponentially distributed.
inline double exponential_threshold(Rng& rng) {
  return -portable_log((static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53);
}

// Draws a task and one in a unit that holds a neighbour of the first but not the first itself; -1: none.
template <class W, class D>
std::pair<int32_t, int32_t> propose_exchange(const SwapState<W, D>& state, Rng& rng) {
  const Graph<W>& g = state.graph();
  const auto u = static_cast<int32_t>(rng.below(g.n));
  if (!g.degree(u) || state.hub(u)) return {u, -1};
  const int32_t w = g.adj[g.start[u] + static_cast<int64_t>(rng.below(g.degree(u)))];
  const PeRange unit = state.cells().random_unit(state.costs().pe(u), state.costs().pe(w), rng);
  const auto there = state.slots().tasks(unit);
  if (there.empty()) return {u, -1};
  const int32_t v = there[rng.below(there.size())];
  return {u, state.costs().allowed(u, v) && !state.hub(v) ? v : -1};
}

// Proposes exchanges near neighbours and accepts losses with falling probability. Returns the change of the
// cost, which may be positive, and counts the exchanges.
template <class W, class D>
int64_t anneal_exchanges(SwapState<W, D>& state, int64_t steps, double start_acceptance, Rng& rng,
                         const Control& control) {
  constexpr int samples = 4000;
  constexpr int64_t every = 64;  // steps between two reductions of the temperature
  std::vector<int64_t> losses;
  for (int i = 0; i < samples && !control.should_stop(); ++i) {
    const auto [u, v] = propose_exchange(state, rng);
    if (v < 0) continue;
    if (const int64_t change = state.costs().delta(u, v); change > 0) losses.push_back(change);
  }
  if (losses.empty()) return 0;
  double temperature = temperature_for(losses, start_acceptance);
  const double coolings = static_cast<double>(std::max<int64_t>(1, steps / every));
  const double fall = temperature_for(losses, end_acceptance) / temperature;
  const double cooling = portable_exp(portable_log(fall) / coolings);
  int64_t total = 0;
  for (int64_t i = 1; i <= steps && state.work_is_left() && !control.should_stop(); ++i) {
    if (i % every == 0) temperature *= cooling;
    const auto [u, v] = propose_exchange(state, rng);
    if (v < 0) continue;
    const int64_t change = state.costs().delta(u, v);
    const int64_t edges = state.graph().degree(u) + state.graph().degree(v);
    state.count_evaluation(edges, edges);
    if (change > 0 && static_cast<double>(change) >= temperature * exponential_threshold(rng)) continue;
    state.exchange(u, v);
    state.count_swap();
    total += change;
  }
  return total;
}

}  // namespace hopbytes
