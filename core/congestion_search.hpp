// Taking load off all hot links at once: threshold accepting on a steep sum over links, which sees every
// hot link, moves along plateaus of the maximum and may climb for a while.
#pragma once
#include <optional>

#include "congestion_swap.hpp"
#include "hybrid.hpp"
#include "rng.hpp"

namespace hopbytes {

struct CongestionOptions {
  int64_t evaluations = 0;      // exchanges looked at, all in all
  int32_t nearest = 24;         // places around a place that a group may go to
  int32_t band_percent = 85;    // links from this share of the highest congestion on are hot
  int32_t threshold = 30'000;   // what a move may cost at first, in thousandths of a group's fair share of the sum
  int32_t hop_percent = 0;      // hop-bytes may rise by so much above those at the start; -1: without limit
  std::optional<Hybrid> hybrid;  // lower this metric instead of the highest congestion
};

class CongestionSearch {
 public:
  CongestionSearch(RoutedGroups& state, std::span<const int64_t> size, std::span<const int64_t> capacity,
                   const Vicinity& vicinity, const CongestionOptions& options, uint64_t seed)
      : state_(state), fit_(size, capacity), options_(options), rng_(seed), nearest_(state.places()) {
    PlaceSearch search(vicinity);
    for (int32_t p = 0; p < static_cast<int32_t>(state.places()); ++p)
      search.run(std::span<const int32_t>(&p, 1), [&](std::span<const int32_t> level) {
        for (const int32_t q : level)
          if (q != p && static_cast<int32_t>(nearest_[p].size()) < options_.nearest) nearest_[p].push_back(q);
        return static_cast<int32_t>(nearest_[p].size()) < options_.nearest;
      });
    for (int32_t g = 0; g < state.flows().n(); ++g)
      state.flows().at(g, [&](int64_t) { talks_ = true; });
  }

  // Leaves the placement of lowest hybrid metric, or of lowest (highest congestion, links that have it,
  // hop-bytes), that was seen within the limit of hop-bytes. Returns the number of exchanges made.
  int64_t run(const Control& control, int64_t& evaluations) {
    if (!talks_ || state_.links().max() == 0 || state_.places() < 2) return 0;
    limit_ = options_.hop_percent < 0 ? INT64_MAX
                                      : state_.hop_bytes() + state_.hop_bytes() / 100 * options_.hop_percent;
    remember();
    int64_t made = 0;
    const int64_t stretch = std::max<int64_t>(1, options_.evaluations / kStretches);
    for (int64_t part = 0; part < kStretches && !control.hurry(); ++part) {
      const double left = 1.0 - static_cast<double>(part) / kStretches;
      reference_ = 1.0 / static_cast<double>(std::max<int64_t>(1, best_.top));
      const double fair = (options_.hybrid ? best_.hybrid : steep_sum()) / static_cast<double>(state_.flows().n());
      const double allowed = options_.threshold / 1000.0 * fair * left * left;
      made += wander(stretch, allowed, control, evaluations);
    }
    restore();
    return made;
  }

 private:
  static constexpr int64_t kStretches = 64;
  struct Best {
    double hybrid = 0;
    int64_t top = 0, at_top = 0, hop_bytes = 0;
    std::vector<int32_t> place;
  };

  // Steep enough that the hottest links count most, smooth enough that the others are seen.
  double steep(int64_t value) const {
    const double x = static_cast<double>(value) * reference_, x2 = x * x;
    return x2 * x2;
  }
  double steep_sum() {
    double sum = 0;
    state_.links().each_from(1, [&](int64_t link) { sum += steep(state_.links().value(link)); });
    return sum;
  }

  int64_t wander(int64_t evaluations, double allowed, const Control& control, int64_t& counted) {
    int64_t made = 0, since = kRefresh;
    std::vector<int32_t> hot;
    std::vector<int64_t> arcs;
    for (int64_t i = 0; i < evaluations; ++i, ++since) {
      if (since >= kRefresh) {
        if (control.hurry()) return made;
        hot = state_.hotter_than(state_.links().max() / 100 * options_.band_percent);
        if (hot.empty()) return made;  // all traffic stays inside nodes: nothing is left to lower
        since = 0;
      }
      arcs.clear();
      state_.over(hot[rng_.below(hot.size())], [&](int64_t e) { arcs.push_back(e); });
      if (arcs.empty()) continue;
      const int64_t arc = arcs[rng_.below(arcs.size())];
      const int32_t group = rng_.below(2) ? state_.flows().source(arc) : state_.flows().target(arc);
      const int32_t p = somewhere(group);
      if (p < 0) continue;
      ++counted;
      state_.propose(group, p);
      if (cost() >= allowed * static_cast<double>(rng_.below(1024)) / 1024) continue;
      state_.commit();
      ++made;
      if (better_than_best()) remember(), since = kRefresh;
    }
    return made;
  }

  // A place near one of those the group talks to, or near its own, that it fits on; -1 if luck is out.
  int32_t somewhere(int32_t group) {
    const int32_t home = state_.place(group);
    int32_t around = home;
    if (rng_.below(4) != 0) {
      int64_t degree = 0;
      state_.flows().at(group, [&](int64_t) { ++degree; });
      int64_t skip = static_cast<int64_t>(rng_.below(degree));
      state_.flows().at(group, [&](int64_t e) {
        if (skip-- == 0) around = state_.place(state_.flows().other_end(e, group));
      });
    }
    const std::vector<int32_t>& near = nearest_[around];
    const uint64_t choice = rng_.below(near.size() + 1);
    const int32_t p = choice == near.size() ? around : near[choice];
    const int32_t other = state_.group_at(p);
    if (p == home || !fit_.fits(group, p) || (other >= 0 && !fit_.fits(other, home))) return -1;
    return p;
  }

  // What the proposal changes of the steep sum; hop-bytes above the limit forbid it.
  double cost() {
    LinkLoads& links = state_.links();
    double change = 0;
    int64_t hop_bytes = 0;
    for (const int32_t link : state_.touched()) {
      if (state_.change(link) == 0) continue;
      const int64_t before = links.value(link);
      change += steep(before + state_.change(link) * links.price(link)) - steep(before);
      hop_bytes += state_.change(link);
    }
    if (hop_bytes > 0 && state_.hop_bytes() + hop_bytes > limit_) return 1e300;
    if (options_.hybrid) return options_.hybrid->after(state_, state_.top_if()) - options_.hybrid->now(state_);
    return change;
  }

  bool better_than_best() {
    if (options_.hybrid) return options_.hybrid->now(state_) < best_.hybrid;
    const int64_t top = state_.links().max();
    if (top != best_.top) return top < best_.top;
    const int64_t at_top = state_.links().at_max();
    return at_top != best_.at_top ? at_top < best_.at_top : state_.hop_bytes() < best_.hop_bytes;
  }
  void remember() {
    if (options_.hybrid) best_.hybrid = options_.hybrid->now(state_);
    best_.top = state_.links().max();
    best_.at_top = state_.links().at_max();
    best_.hop_bytes = state_.hop_bytes();
    best_.place.resize(state_.flows().n());
    for (int32_t g = 0; g < state_.flows().n(); ++g) best_.place[g] = state_.place(g);
  }
  // Back to the best by exchanges: every group in turn goes where it was.
  void restore() {
    for (int32_t g = 0; g < state_.flows().n(); ++g)
      if (state_.place(g) != best_.place[g]) state_.propose(g, best_.place[g]), state_.commit();
  }

  static constexpr int64_t kRefresh = 64;
  RoutedGroups& state_;
  PlaceFit fit_;
  CongestionOptions options_;
  Rng rng_;
  std::vector<std::vector<int32_t>> nearest_;
  bool talks_ = false;
  double reference_ = 1.0;
  int64_t limit_ = INT64_MAX;
  Best best_;
};

}  // namespace hopbytes
