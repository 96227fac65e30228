// The temperatures at which simulated annealing begins and ends, and its acceptance rule.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "rng.hpp"

namespace hopbytes {

// Annealing chains begin at temperatures that accept these shares of the exchanges that raise the cost (each
// chain takes the next share) and end at the temperature that accepts `end_acceptance` of them. Hot starts
// find different solutions; cooler starts keep more of the given mapping.
inline constexpr double start_acceptances[] = {0.6, 0.75, 0.5, 0.85};
inline constexpr double end_acceptance = 0.002;

// Returns the temperature at which this share of the losses is accepted on average.
inline double temperature_for(const std::vector<int64_t>& losses, double share) {
  double low = 1e-3, high = 1e19;
  for (int i = 0; i < 100; ++i) {
    const double temperature = std::sqrt(low * high);
    double accepted = 0;
    for (const int64_t loss : losses) accepted += std::exp(-static_cast<double>(loss) / temperature);
    (accepted < share * static_cast<double>(losses.size()) ? low : high) = temperature;
  }
  return low;
}

// Draws the largest loss, in units of the temperature, that is accepted: exponentially distributed.
inline double exponential_threshold(Rng& rng) {
  return -std::log((static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53);
}

}  // namespace hopbytes
