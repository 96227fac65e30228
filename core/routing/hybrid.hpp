// The hybrid metric of PTRAM: one double, computed from exact integers by one formula.
#pragma once
#include "routing/routed_groups.hpp"

namespace hopbytes {

// The weighted sum of hop-bytes, highest congestion, and mean and variance of the congestion of links in use.
struct Hybrid {
  double weight[4];  // of the four terms, including any normalisation
  double unit;  // integers per unit of congestion
  double scale;  // integers per byte of load

  double value(int64_t hop_bytes, int64_t top, Wide sum, Wide squares, int64_t used) const {
    if (used == 0) return 0.0;
    const double mean = static_cast<double>(sum) / static_cast<double>(used);
    const double variance = static_cast<double>(squares) / static_cast<double>(used) - mean * mean;
    return weight[0] * (static_cast<double>(hop_bytes) / scale) +
           weight[1] * (static_cast<double>(top) / unit) + weight[2] * (mean / unit) +
           weight[3] * (variance / unit / unit);
  }
  double now(RoutedGroups& state) const {
    LinkLoads& links = state.links();
    return value(state.hop_bytes(), links.max(), links.sum(), links.squares(), links.used());
  }
  // The value after proposed additions: loads only grow, so the maximum is the old one or on a touched link.
  double after_growth(RoutedGroups& state) const {
    int64_t top = state.links().max();
    for (const int32_t link : state.touched())
      top = std::max(top, state.links().value(link) + state.change(link) * state.links().price(link));
    return after(state, top);
  }
  // The value after any proposal, given the highest congestion that it leads to.
  double after(RoutedGroups& state, int64_t top) const {
    LinkLoads& links = state.links();
    int64_t hop_bytes = state.hop_bytes(), used = links.used();
    Wide sum = links.sum(), squares = links.squares();
    for (const int32_t link : state.touched()) {
      const int64_t before = links.value(link);
      const int64_t after = before + state.change(link) * links.price(link);
      hop_bytes += state.change(link);
      sum += after - before;
      squares += static_cast<Wide>(after) * after - static_cast<Wide>(before) * before;
      used += (after > 0) - (before > 0);
    }
    return value(hop_bytes, top, sum, squares, used);
  }
};

// Reads six numbers as Python passes them: four weights, unit, scale.
inline Hybrid hybrid_of(std::span<const double> w) { return {{w[0], w[1], w[2], w[3]}, w[4], w[5]}; }

}  // namespace hopbytes
