// Exchanges that lower the highest congestion of a link (the MC and MMC refinement of UMPA).
#pragma once
#include "util/control.hpp"
#include "routing/places.hpp"
#include "routing/routed_groups.hpp"

namespace hopbytes {

// Defines which mapping is better. Lexicographic: highest congestion, number of links that have it, sum of
// squares, hop-bytes. Paper: highest congestion, then mean congestion of the links in use.
enum class CongestionRule { lexicographic, paper };

// Returns whether the proposed mapping is better.
inline bool less_congested(RoutedGroups& state, CongestionRule rule) {
  LinkLoads& links = state.links();
  const int64_t top = links.max();
  int64_t at_top = links.at_max();
  const LinkSums now = state.sums();
  LinkSums then = now;
  for (const int32_t link : state.touched()) {
    const LinkChange change = state.change(link);
    if (change.after > top) return false;
    at_top += (change.after == top) - (change.before == top);
    then.add(change);
  }
  if (at_top == 0) return true;
  if (rule == CongestionRule::paper) {
    if (then.used == 0) return then.sum < now.sum;
    return then.sum * now.used < now.sum * then.used;
  }
  if (at_top != links.at_max()) return at_top < links.at_max();
  return then.squares != now.squares ? then.squares < now.squares : then.hop_bytes < now.hop_bytes;
}

// Relieves the most congested link: the groups whose traffic crosses it try other places near their
// communication partners. The search ends when no group on any hottest link finds a better place.
class CongestionSwap {
 public:
  CongestionSwap(RoutedGroups& state, const PlaceFit& fit, const Neighbourhood& neighbourhood, int32_t delta,
                 CongestionRule rule)
      : state_(state),
        fit_(fit),
        search_(neighbourhood),
        delta_(delta),
        rule_(rule),
        across_(state.flows().n(), 0) {}

  // Returns the number of exchanges made, which is at most `limit`. Adds to `evaluations`.
  int64_t run(int64_t limit, const Control& control, int64_t& evaluations) {
    int64_t made = 0;
    while (made < limit && relieve(control, evaluations)) ++made;
    return made;
  }

 private:
  bool relieve(const Control& control, int64_t& evaluations) {
    if (state_.links().max() == 0) return false;
    for (const int32_t link : state_.hottest())
      for (const int32_t group : groups_over(link)) {
        if (control.should_stop()) return false;
        if (improve(group, evaluations)) return true;
      }
    return false;
  }

  // Returns the groups that send or receive over a link, the largest volume first.
  std::vector<int32_t> groups_over(int32_t link) {
    std::vector<int32_t> groups;
    const Flows& flows = state_.flows();
    state_.over(link, [&](int64_t e) {
      for (const int32_t group : {flows.source(e), flows.target(e)}) {
        if (across_[group] == 0) groups.push_back(group);
        across_[group] += flows.volume(e);
      }
    });
    std::sort(groups.begin(), groups.end(), [&](int32_t a, int32_t b) {
      return across_[a] != across_[b] ? across_[a] > across_[b] : a < b;
    });
    for (const int32_t group : groups) across_[group] = 0;
    return groups;
  }

  bool improve(int32_t group, int64_t& evaluations) {
    sources_.clear();
    const Flows& flows = state_.flows();
    flows.at(group, [&](int64_t e) { sources_.push_back(state_.place(flows.other_end(e, group))); });
    const int32_t home = state_.place(group);
    return search_.attempt_around(sources_, home, delta_, [&](int32_t p) {
      if (!fit_.both_fit(group, p, state_.group_at(p), home)) return false;
      ++evaluations;
      state_.propose(group, p);
      if (!less_congested(state_, rule_)) return false;
      state_.commit();
      return true;
    });
  }

  RoutedGroups& state_;
  const PlaceFit& fit_;
  PlaceSearch search_;
  int32_t delta_;
  CongestionRule rule_;
  std::vector<int64_t> across_;
  std::vector<int32_t> sources_;
};

}  // namespace hopbytes
