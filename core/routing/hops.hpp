// Groups on nodes by hops, as in UMPA: greedy growth, and exchanges.
#pragma once
#include <queue>
#include <tuple>

#include "graph/any_distance.hpp"
#include "routing/places.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Returns the first of 0 .. count - 1 with the largest value that `wanted` accepts, -1 if there is none.
template <class Wanted, class Value> int32_t first_largest(int64_t count, Wanted wanted, Value value) {
  int32_t best = -1;
  decltype(value(0)) most{};
  for (int32_t i = 0; i < count; ++i) {
    if (!wanted(i)) continue;
    if (const auto now = value(i); best < 0 || now > most) best = i, most = now;
  }
  return best;
}

// Greedy growth (UG of UMPA): the group with the largest volume to the placed groups goes near them, one
// group per place. g is symmetric without diagonal. After the first group, `seeds` further groups are placed
// far from each other before the growth begins. At most O(groups x places + sum over groups of candidates x
// degree).
class HopGreedy {
 public:
  HopGreedy(const Csr& g, const PlaceFit& fit, const Neighbourhood& neighbourhood,
            const AnyDistance& distance, Out<int32_t> place)
      : g_(g),
        fit_(fit),
        search_(neighbourhood),
        distance_(distance),
        place_(place),
        places_(neighbourhood.places()),
        total_(g.n(), 0),
        volume_to_placed_(g.n(), 0),
        group_at_(places_, -1),
        remote_(places_, INT64_MAX) {
    for (int64_t t = 0; t < g_.n(); ++t)
      for (int64_t e = g_.indptr[t]; e < g_.indptr[t + 1]; ++e) total_[t] += g_.w(e);
    std::fill(place_.begin(), place_.end(), -1);
  }

  // Returns the sum of weight x distance, every pair once.
  int64_t run(int32_t seeds) {
    int64_t cost = 0;
    for (const int32_t rank : fit_.by_rarity()) {
      const auto wanted = [&](int32_t t) { return fit_.class_of_group(t) == rank; };
      int64_t left = 0;
      for (int32_t t = 0; t < g_.n(); ++t)
        if (wanted(t)) enqueue(t), ++left;
      for (; left > 0; --left) {
        int32_t group = -1;
        if (filled_.empty()) group = first_largest(g_.n(), wanted, [&](int32_t t) { return total_[t]; });
        else if (static_cast<int32_t>(filled_.size()) <= seeds) group = farthest(rank);
        if (group < 0) group = next(wanted);
        int32_t chosen = filled_.empty() ? most_central(group) : best_place(group);
        if (chosen < 0) chosen = cheapest_free(group);
        cost += cost_at(group, chosen);
        place_[group] = chosen;
        group_at_[chosen] = group;
        filled_.push_back(chosen);
        fit_.take(group, chosen);
        for (int64_t e = g_.indptr[group]; e < g_.indptr[group + 1]; ++e) {
          volume_to_placed_[g_.target[e]] += g_.w(e);
          enqueue(g_.target[e]);
        }
      }
    }
    return cost;
  }

 private:
  bool placed(int32_t group) const { return place_[group] >= 0; }

  // Groups wait by falling volume with the placed groups, then by total volume, then by number.
  void enqueue(int32_t group) {
    if (!placed(group)) queue_.push({volume_to_placed_[group], total_[group], -group});
  }

  // Returns the next group that `wanted` accepts. Others are dropped; enqueue() adds them again.
  template <class Wanted> int32_t next(Wanted wanted) {
    while (true) {
      const auto [volume, total, negative] = queue_.top();
      queue_.pop();
      const int32_t group = -negative;
      if (!placed(group) && volume == volume_to_placed_[group] && wanted(group)) return group;
    }
  }

  // Returns the central place, whose farthest place is nearest, measured from at most kLandmarks places.
  int32_t most_central(int32_t group) const {
    const int64_t step = std::max<int64_t>(1, places_ / kLandmarks);
    return distance_.in_form([&](const auto& distance) {
      const auto nearness = [&](int32_t p) {
        int64_t most = 0;
        for (int64_t other = 0; other < places_; other += step)
          most = std::max(most, distance(p, static_cast<int32_t>(other)));
        return -most;
      };
      return first_largest(places_, [&](int32_t p) { return fit_.allows(group, p); }, nearness);
    });
  }

  // Of the groups farthest from all placed ones, returns that of the largest volume. Unreachable ones are
  // farthest.
  int32_t farthest(int32_t rank) const {
    std::vector<int32_t> depth(g_.n(), -1), frontier, next;
    for (int32_t t = 0; t < g_.n(); ++t)
      if (placed(t)) depth[t] = 0, frontier.push_back(t);
    for (int32_t level = 1; !frontier.empty(); ++level, frontier.swap(next)) {
      next.clear();
      for (const int32_t t : frontier)
        for (int64_t e = g_.indptr[t]; e < g_.indptr[t + 1]; ++e)
          if (depth[g_.target[e]] < 0) depth[g_.target[e]] = level, next.push_back(g_.target[e]);
    }
    return first_largest(
        g_.n(), [&](int32_t t) { return !placed(t) && fit_.class_of_group(t) == rank; },
        [&](int32_t t) { return std::pair(depth[t] < 0 ? INT32_MAX : depth[t], total_[t]); });
  }

  // Returns the cheapest of the nearest free places to the partners of a group, -1 if the search finds none.
  int32_t best_place(int32_t group) {
    sources_.clear();
    for (int64_t e = g_.indptr[group]; e < g_.indptr[group + 1]; ++e)
      if (const int32_t p = place_[g_.target[e]]; p >= 0) sources_.push_back(p);
    const auto free = [&](int32_t p) { return group_at_[p] < 0 && fit_.allows(group, p); };
    if (sources_.empty()) return most_remote(free);
    int32_t best = -1;
    int64_t least = 0;
    search_.run(sources_, [&](In<int32_t> level) {
      for (const int32_t p : level) {
        if (!free(p)) continue;
        const int64_t cost = cost_at(group, p);
        if (best < 0 || cost < least) best = p, least = cost;
      }
      return best < 0;
    });
    return best;
  }

  // Returns the free place that is farthest from all filled places, -1 if there is none.
  template <class Free> int32_t most_remote(Free free) {
    distance_.in_form([&](const auto& distance) {
      for (; measured_ < filled_.size(); ++measured_)
        for (int32_t p = 0; p < places_; ++p)
          remote_[p] = std::min(remote_[p], distance(p, filled_[measured_]));
    });
    return first_largest(places_, free, [&](int32_t p) { return remote_[p]; });
  }

  // Used if the search reaches no free place or the group fits nowhere.
  int32_t cheapest_free(int32_t group) const {
    const auto gain = [&](int32_t p) { return -cost_at(group, p); };
    const auto free = [&](int32_t p) { return group_at_[p] < 0; };
    const int32_t best =
        first_largest(places_, [&](int32_t p) { return free(p) && fit_.allows(group, p); }, gain);
    return best >= 0 ? best : first_largest(places_, free, gain);
  }

  int64_t cost_at(int32_t group, int32_t p) const {
    return distance_.in_form([&](const auto& distance) {
      int64_t cost = 0;
      for (int64_t e = g_.indptr[group]; e < g_.indptr[group + 1]; ++e)
        if (const int32_t q = place_[g_.target[e]]; q >= 0) cost += g_.w(e) * distance(p, q);
      return cost;
    });
  }

  static constexpr int64_t kLandmarks = 1024;
  const Csr g_;
  PlaceFit fit_;
  PlaceSearch search_;
  const AnyDistance distance_;
  Out<int32_t> place_;
  int64_t places_;
  std::vector<int64_t> total_, volume_to_placed_;
  std::priority_queue<std::tuple<int64_t, int64_t, int32_t>> queue_;  // volumes, and the negated group
  std::vector<int32_t> group_at_, filled_, sources_;
  std::vector<int64_t> remote_;  // distance to the nearest of the first `measured_` filled places
  size_t measured_ = 0;
};

// Exchanges that lower the weighted hops, starting with the most expensive group (WH refinement of UMPA).
class HopSwap {
 public:
  HopSwap(const Csr& g, const PlaceFit& fit, const Neighbourhood& neighbourhood, const AnyDistance& distance,
          Out<int32_t> place)
      : g_(g),
        fit_(fit),
        search_(neighbourhood),
        distance_(distance),
        place_(place),
        group_at_(neighbourhood.places(), -1),
        key_(g.n(), 0),
        done_(g.n(), 0) {
    for (int32_t t = 0; t < g_.n(); ++t) group_at_[place_[t]] = t;
  }

  // Makes passes until one gains nothing, trying `delta` places per group. Returns the change of the cost.
  int64_t run(int32_t delta, const Control& control, int64_t& evaluations) {
    int64_t total = 0;
    for (bool better = true; better && !control.should_stop();) {
      const int64_t change = pass(delta, control, evaluations);
      better = change < 0;
      total += change;
    }
    return total;
  }

 private:
  int64_t pass(int32_t delta, const Control& control, int64_t& evaluations) {
    std::fill(done_.begin(), done_.end(), 0);
    for (int32_t t = 0; t < g_.n(); ++t) {
      key_[t] = 0;
      for (int64_t e = g_.indptr[t]; e < g_.indptr[t + 1]; ++e)
        key_[t] += g_.w(e) * distance_(place_[t], place_[g_.target[e]]);
      queue_.push({key_[t], -t});
    }
    int64_t total = 0;
    while (!queue_.empty()) {
      const auto [key, negative] = queue_.top();
      const int32_t group = -negative;
      queue_.pop();
      if (done_[group] || key != key_[group]) continue;
      done_[group] = 1;
      if (!control.should_stop()) total += improve(group, delta, evaluations);
    }
    return total;
  }

  int64_t improve(int32_t group, int32_t delta, int64_t& evaluations) {
    sources_.clear();
    for (int64_t e = g_.indptr[group]; e < g_.indptr[group + 1]; ++e)
      sources_.push_back(place_[g_.target[e]]);
    const int32_t home = place_[group];
    int64_t won = 0;
    search_.attempt_around(sources_, home, delta, [&](int32_t p) {
      const int32_t other = group_at_[p];
      if (!fit_.both_fit(group, p, other, home)) return false;
      ++evaluations;
      const int64_t change = change_if(group, p, other) + (other < 0 ? 0 : change_if(other, home, group));
      if (change >= 0) return false;
      apply(group, p, other);
      won = change;
      return true;
    });
    return won;
  }

  // Returns the change for `group` if it moves to p. `partner` moves the other way and stays as far.
  int64_t change_if(int32_t group, int32_t p, int32_t partner) const {
    const int32_t home = place_[group];
    return distance_.in_form([&](const auto& distance) {
      int64_t change = 0;
      for (int64_t e = g_.indptr[group]; e < g_.indptr[group + 1]; ++e) {
        const int32_t other = g_.target[e];
        if (other == partner) continue;
        change += g_.w(e) * (distance(p, place_[other]) - distance(home, place_[other]));
      }
      return change;
    });
  }

  void apply(int32_t group, int32_t p, int32_t other) {
    const int32_t home = place_[group];
    place_[group] = p;
    group_at_[p] = group;
    group_at_[home] = other;
    if (other >= 0) place_[other] = home;
    note(group, home, p, other);
    if (other >= 0) note(other, p, home, group);
  }

  // Updates the keys after `group` has moved from one place to another; `partner` moved the other way.
  void note(int32_t group, int32_t from, int32_t to, int32_t partner) {
    for (int64_t e = g_.indptr[group]; e < g_.indptr[group + 1]; ++e) {
      const int32_t other = g_.target[e];
      if (other == partner) continue;
      const int64_t change = g_.w(e) * (distance_(to, place_[other]) - distance_(from, place_[other]));
      key_[other] += change;
      key_[group] += change;
      if (!done_[other]) queue_.push({key_[other], -other});
    }
    if (!done_[group]) queue_.push({key_[group], -group});
  }

  const Csr g_;
  const PlaceFit& fit_;
  PlaceSearch search_;
  const AnyDistance distance_;
  Out<int32_t> place_;
  std::vector<int32_t> group_at_, sources_;
  std::vector<int64_t> key_;
  std::vector<uint8_t> done_;
  std::priority_queue<std::pair<int64_t, int32_t>> queue_;  // keys and negated groups: of equals the smallest
};

}  // namespace hopbytes
