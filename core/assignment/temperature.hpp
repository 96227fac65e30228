// The temperatures at which simulated annealing begins and ends, and its acceptance rule.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "util/portable_math.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Annealing chains begin at temperatures that accept these shares of the exchanges that raise the cost (each
// chain takes the next share) and end at the temperature that accepts `end_acceptance` of them. Hot starts
// find different solutions; cooler starts keep more of the given mapping.
inline constexpr double start_acceptances[] = {0.6, 0.75, 0.5, 0.85};
inline constexpr double end_acceptance = 0.002;

// Returns the temperature at which this share of the losses is accepted on average, by bisection. The search
// ends when the interval cannot be divided further; a sum of shares that has reached its target ends early.
inline double temperature_for(const std::vector<int64_t>& losses, double share) {
  // Few losses differ on regular patterns, so that the exponential function is evaluated once per value.
  std::vector<int64_t> values(losses);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
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

}  // namespace hopbytes
