// Lowers the load of all hot links at once by threshold accepting. The objective is the sum of the fourth
// powers of link congestion: it includes every hot link, distinguishes mappings of equal maximum
// congestion, and may rise temporarily.
#pragma once
#include <optional>

#include "routing/congestion_swap.hpp"
#include "routing/hybrid.hpp"
#include "util/portable_math.hpp"
#include "util/rng.hpp"
#include "routing/set_moves.hpp"

namespace hopbytes {

struct CongestionOptions {
  int64_t evaluations = 0;  // exchanges to evaluate in total
  int32_t nearest = 24;  // nodes around a node that are candidates for a group
  int32_t band_percent = 85;  // Links with at least this share of the highest congestion are hot.
  // initial threshold, in thousandths of a group's average share of the objective
  int32_t threshold = 30'000;
  int32_t hop_percent = 0;  // by how much hop-bytes may exceed those of the start; -1: no limit
  int32_t set_percent = 0;  // share of evaluations in which several groups move at once
  std::optional<Hybrid> hybrid;  // if set, the objective is this metric
};

class CongestionSearch {
 public:
  CongestionSearch(RoutedGroups& state, std::span<const int64_t> size, std::span<const int64_t> capacity,
                   const Neighbourhood& neighbourhood, const CongestionOptions& options, uint64_t seed)
      : state_(state), fit_(size, capacity), neighbourhood_(neighbourhood), options_(options), rng_(seed) {
    for (int32_t g = 0; g < state.flows().n(); ++g) communicates_ |= state.partners(g) > 0;
    reach_ = static_cast<uint64_t>(std::clamp<int64_t>(options_.nearest + 1, 1, neighbourhood_.reach()));
    if (options_.set_percent > 0) sets_.emplace(state_, fit_, neighbourhood_, reach_);
  }

  // Ends with the best mapping found that respects the limit of hop-bytes. The best mapping has the lowest
  // hybrid metric, or the lexicographically lowest triple of maximum congestion, number of links with it, and
  // hop-bytes. Returns the number of exchanges made.
  int64_t run(const Control& control, int64_t& evaluations) {
    if (!communicates_ || state_.links().max() == 0 || state_.places() < 2) return 0;
    const int64_t hop_bytes = state_.hop_bytes();
    limit_ = options_.hop_percent < 0 ? INT64_MAX : hop_bytes + percent_of(hop_bytes, options_.hop_percent);
    store_best();
    int64_t made = 0;
    const int64_t phase_length = std::max<int64_t>(1, options_.evaluations / kPhases);
    for (int64_t part = 0; part < kPhases && !control.should_stop(); ++part) {
      const double left = 1.0 - static_cast<double>(part) / kPhases;
      reference_ = 1.0 / static_cast<double>(std::max<int64_t>(1, best_.top));
      count_above();
      const double fair =
          (options_.hybrid ? best_.hybrid : steep_sum()) / static_cast<double>(state_.flows().n());
      const double allowed = options_.threshold / 1000.0 * fair * left * left;
      made += accept_by_threshold(phase_length, allowed, control, evaluations);
    }
    restore();
    return made;
  }

 private:
  static constexpr int64_t kPhases = 64;
  struct Best {
    double hybrid = 0;
    int64_t top = 0, at_top = 0, hop_bytes = 0;
    std::vector<int32_t> place;
  };

  // The fourth power is steep enough for the hottest links to dominate and smooth enough for the other links
  // to count.
  double steep(int64_t value) const {
    const double x = static_cast<double>(value) * reference_, x2 = x * x;
    return x2 * x2;
  }
  double steep_sum() {
    double sum = 0;
    state_.links().each_from(1, [&](int64_t link) { sum += steep(state_.links().value(link)); });
    return sum;
  }

  int64_t accept_by_threshold(int64_t evaluations, double allowed, const Control& control, int64_t& counted) {
    int64_t made = 0, since = kRefresh;
    std::vector<int32_t> hot;
    for (int64_t i = 0; i < evaluations; ++i, ++since) {
      if (since >= kRefresh) {
        if (control.should_stop()) return made;
        hot = state_.hotter_than(percent_of(state_.links().max(), options_.band_percent));
        if (hot.empty()) return made;  // All traffic is inside nodes, so that there is nothing to lower.
        since = 0;
      }
      const int64_t arc = state_.one_over(hot[rng_.below(hot.size())], rng_);
      if (arc < 0) continue;
      const int32_t group = rng_.below(2) ? state_.flows().source(arc) : state_.flows().target(arc);
      if (const int64_t moved = propose(group)) i += moved - 1, counted += moved;
      else continue;
      if (cost() >= allowed * static_cast<double>(rng_.below(1024)) / 1024) continue;
      state_.commit();
      above_ += rise_, level_ += level_rise_;
      ++made;
      if (better_than_best()) store_best(), since = kRefresh;
    }
    return made;
  }

  // Proposes to move a group, alone or as part of a set. Returns the number of groups that move, 0 if the
  // draw gave no permitted move. An exchange of two groups counts as one.
  int64_t propose(int32_t group) {
    if (sets_ && static_cast<int32_t>(rng_.below(kSetMean * 100)) < options_.set_percent) {
      const auto moves = sets_->draw(group, rng_);
      if (!moves.empty()) state_.propose(moves);
      return static_cast<int64_t>(moves.size());
    }
    const int32_t p = draw_place(group);
    if (p < 0) return 0;
    state_.propose(group, p);
    return 1;
  }

  // Draws a place near a communication partner of the group or near its own place. Returns -1 if a group
  // would not fit its new place.
  int32_t draw_place(int32_t group) {
    const int32_t home = state_.place(group);
    int32_t around = home;
    if (rng_.below(4) != 0)
      around = state_.place(state_.partner(group, static_cast<int64_t>(rng_.below(state_.partners(group)))));
    const int32_t p = neighbourhood_.draw(around, reach_, rng_);
    return !state_.alike(p, home) && fit_.both_fit(group, p, state_.group_at(p), home) ? p : -1;
  }

  // Returns the change of the objective that the proposal causes; an infinite one if hop-bytes would exceed
  // the limit.
  double cost() {
    double change = 0;
    int64_t hop_bytes = 0;
    rise_ = level_rise_ = 0;
    for (const int32_t link : state_.touched()) {
      const auto [amount, before, after] = state_.change(link);
      if (amount == 0) continue;
      change += steep(after) - steep(before);
      hop_bytes += amount;
      rise_ += (after > best_.top) - (before > best_.top);
      level_rise_ += (after == best_.top) - (before == best_.top);
    }
    if (hop_bytes > 0 && state_.hop_bytes() + hop_bytes > limit_) return 1e300;
    if (options_.hybrid)
      return options_.hybrid->after(state_, state_.hottest_if().first) - options_.hybrid->now(state_);
    return change;
  }

  // Every exchange updates the numbers of links whose congestion exceeds, and equals, the maximum congestion
  // of the best mapping, so that the maximum is computed only when it has fallen.
  void count_above() {
    above_ = level_ = 0;
    state_.links().each_from(std::max<int64_t>(1, best_.top), [&](int64_t link) {
      const bool same = state_.links().value(link) == best_.top;
      above_ += !same, level_ += same;
    });
  }

  bool better_than_best() {
    if (options_.hybrid) return options_.hybrid->now(state_) < best_.hybrid;
    if (above_ > 0) return false;
    return level_ != best_.at_top ? level_ < best_.at_top : state_.hop_bytes() < best_.hop_bytes;
  }
  void store_best() {
    if (options_.hybrid) best_.hybrid = options_.hybrid->now(state_);
    best_.top = state_.links().max();
    best_.at_top = state_.links().at_max();
    best_.hop_bytes = state_.hop_bytes();
    count_above();
    best_.place.resize(state_.flows().n());
    for (int32_t g = 0; g < state_.flows().n(); ++g) best_.place[g] = state_.place(g);
  }
  // Returns to the best mapping by exchanges: every group in turn moves back to its place.
  void restore() {
    for (int32_t g = 0; g < state_.flows().n(); ++g)
      if (state_.place(g) != best_.place[g]) state_.propose(g, best_.place[g]), state_.commit();
  }

  static constexpr int64_t kRefresh = 64;
  static constexpr int64_t kSetMean = 8;  // the approximate mean number of groups in a set
  RoutedGroups& state_;
  PlaceFit fit_;
  Neighbourhood neighbourhood_;
  CongestionOptions options_;
  Rng rng_;
  std::optional<SetMoves> sets_;
  uint64_t reach_ = 1;
  bool communicates_ = false;
  int64_t above_ = 0, level_ = 0, rise_ = 0, level_rise_ = 0;
  double reference_ = 1.0;
  int64_t limit_ = INT64_MAX;
  Best best_;
};

}  // namespace hopbytes
