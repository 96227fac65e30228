// The hybrid metric of PTRAM: one double, computed from exact integers by one formula.
#pragma once
#include "routing/routed_groups.hpp"

namespace hopbytes {

// The weighted sum of hop-bytes, highest congestion, and mean and variance of the congestion of links in use.
struct Hybrid {
  double weight[4];  // of the four terms, including any normalisation
  double unit;  // integers per unit of congestion
  double scale;  // integers per byte of load

  double value(const LinkSums& sums, int64_t top) const {
    if (sums.used == 0) return 0.0;
    const auto used = static_cast<double>(sums.used);
    const double mean = static_cast<double>(sums.sum) / used;
    const double variance = static_cast<double>(sums.squares) / used - mean * mean;
    return weight[0] * (static_cast<double>(sums.hop_bytes) / scale) +
           weight[1] * (static_cast<double>(top) / unit) + weight[2] * (mean / unit) +
           weight[3] * (variance / unit / unit);
  }
  double now(RoutedGroups& state) const { return value(state.sums(), state.links().max()); }
  // The value after proposed additions: loads only grow, so the maximum is the old one or on a touched link.
  double after_growth(RoutedGroups& state) const {
    int64_t top = state.links().max();
    for (const int32_t link : state.touched()) top = std::max(top, state.change(link).after);
    return after(state, top);
  }
  // The value after any proposal, given the highest congestion that it leads to.
  double after(const RoutedGroups& state, int64_t top) const {
    LinkSums sums = state.sums();
    for (const int32_t link : state.touched()) sums.add(state.change(link));
    return value(sums, top);
  }
};

// Reads six numbers as Python passes them: four weights, unit, scale.
inline Hybrid hybrid_of(std::span<const double> w) { return {{w[0], w[1], w[2], w[3]}, w[4], w[5]}; }

}  // namespace hopbytes
