// The temperatures at which simulated annealing begins and ends, and its acceptance rule.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "rng.hpp"

namespace hopbytes {

// Annealing chains begin at temperatures that accept these shares of the exchanges that raise the cost, one
// chain after the other, and end at the last one. Hot starts find different solutions; cooler starts keep
// more of the given placement.
inline constexpr double heats[] = {0.6, 0.75, 0.5, 0.85};
inline constexpr double cold = 0.002;

// Returns the temperature at which this share of the losses is accepted on average.
inline double heat_for(const std::vector<int64_t>& losses, double share) {
  double low = 1e-3, high = 1e19;
  for (int i = 0; i < 100; ++i) {
    const double heat = std::sqrt(low * high);
    double accepted = 0;
    for (const int64_t loss : losses) accepted += std::exp(-static_cast<double>(loss) / heat);
    (accepted < share * static_cast<double>(losses.size()) ? low : high) = heat;
  }
  return low;
}

// Draws the largest loss, in units of the temperature, that is accepted: exponentially distributed.
inline double patience(Rng& rng) { return -std::log((static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53); }

}  // namespace hopbytes
