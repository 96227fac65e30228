// Exchanges that lower the highest congestion of a link (the MC and MMC refinement of UMPA).
#pragma once
#include "util/control.hpp"
#include "util/rng.hpp"
#include "util/vertex_heap.hpp"
#include "graph/graph.hpp"
#include "routing/place_fit.hpp"
#include "routing/place_search.hpp"
#include "routing/routed_groups.hpp"

namespace hopbytes {

// Defines which mapping is better. Lexicographic: highest congestion, number of links that have it, sum of
// squares, hop-bytes. Paper: highest congestion, then mean congestion of the links in use.
enum class CongestionRule { lexicographic, paper };

// Returns whether the proposed mapping is better.
inline bool less_congested(RoutedGroups& state, CongestionRule rule) {
  LinkLoads& links = state.links();
  const int64_t top = links.max();
  int64_t at_top = links.at_max(), hop_bytes = 0, used = 0;
  Wide squares = 0, sum = 0;
  for (const int32_t link : state.touched()) {
    const int64_t before = links.value(link);
    const int64_t after = before + state.change(link) * links.price(link);
    if (after > top) return false;
    at_top += (after == top) - (before == top);
    squares += static_cast<Wide>(after) * after - static_cast<Wide>(before) * before;
    sum += after - before;
    hop_bytes += state.change(link);
    used += (after > 0) - (before > 0);
  }
  if (at_top == 0) return true;
  if (rule == CongestionRule::paper) {
    if (links.used() + used == 0) return sum < 0;
    return (links.sum() + sum) * links.used() < links.sum() * (links.used() + used);
  }
  if (at_top != links.at_max()) return at_top < links.at_max();
  return squares != 0 ? squares < 0 : hop_bytes < 0;
}

// Relieves the most congested link: the groups whose traffic crosses it try other places near their
// communication partners. The search ends when no group on any hottest link finds a better place.
class CongestionSwap {
 public:
  CongestionSwap(RoutedGroups& state, std::span<const int64_t> size, std::span<const int64_t> capacity,
                 const Neighbourhood& neighbourhood, int32_t delta, CongestionRule rule)
      : state_(state),
        fit_(size, capacity),
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
    int32_t tried = 0;
    bool found = false;
    search_.run(sources_, [&](std::span<const int32_t> level) {
      for (const int32_t p : level) {
        if (p == home) continue;
        if (tried++ >= delta_) return false;
        const int32_t other = state_.group_at(p);
        if (!fit_.fits(group, p) || (other >= 0 && !fit_.fits(other, home))) continue;
        ++evaluations;
        state_.propose(group, p);
        if (!less_congested(state_, rule_)) continue;
        state_.commit();
        found = true;
        return false;
      }
      return tried < delta_;
    });
    return found;
  }

  RoutedGroups& state_;
  PlaceFit fit_;
  PlaceSearch search_;
  int32_t delta_;
  CongestionRule rule_;
  std::vector<int64_t> across_;
  std::vector<int32_t> sources_;
};

}  // namespace hopbytes
