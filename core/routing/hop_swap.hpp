// Exchanges that lower the weighted hops, starting with the most expensive group (WH refinement of UMPA).
#pragma once
#include <queue>
#include <utility>

#include "graph/any_distance.hpp"
#include "graph/csr.hpp"
#include "routing/place_fit.hpp"
#include "routing/place_search.hpp"
#include "util/control.hpp"

namespace hopbytes {

class HopSwap {
 public:
  HopSwap(const Csr& g, In<int64_t> size, In<int64_t> capacity, const Neighbourhood& neighbourhood,
          const AnyDistance& distance, Out<int32_t> place)
      : g_(g),
        fit_(size, capacity),
        search_(neighbourhood),
        distance_(distance),
        place_(place),
        group_at_(neighbourhood.places(), -1),
        key_(g.n(), 0),
        done_(g.n(), 0) {
    for (int32_t t = 0; t < g_.n(); ++t) group_at_[place_[t]] = t;
  }

  // Makes passes until one gains nothing. Tries `delta` places per group. Returns the (negative) change of
  // the sum over pairs of weight x distance and adds to `evaluations`.
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

  // Returns the change of the cost of `group` if it moves to p. Its distance to `partner`, which moves the
  // other way, stays the same.
  int64_t change_if(int32_t group, int32_t p, int32_t partner) const {
    const int32_t home = place_[group];
    return distance_.in_form_between_pes([&](const auto& distance) {
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

  Csr g_;
  PlaceFit fit_;
  PlaceSearch search_;
  AnyDistance distance_;
  Out<int32_t> place_;
  std::vector<int32_t> group_at_, sources_;
  std::vector<int64_t> key_;
  std::vector<uint8_t> done_;
  std::priority_queue<std::pair<int64_t, int32_t>> queue_;  // keys and negated groups: of equals the smallest
};

}  // namespace hopbytes
