// Grouping of TreeMatch (Jeannot and Mercier, Euro-Par 2010): p objects in p / arity groups so that little
// weight leaves them. Small cases list all possible groups and look for independent sets in the graph of
// their conflicts; large ones grow groups along heavy edges. Deterministic: ties fall to the smaller number.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "csr.hpp"

namespace hopbytes {

using Wide = __int128;
using UnsignedWide = unsigned __int128;

// Which heuristic gave the grouping; the order in which they are tried.
enum class Grouping : int { packed, smallest_first, largest_last, weighted_degree, heaviest_edge, least_degree, in_order };

// C(n, k), or limit + 1 when it is larger.
inline int64_t choose(int64_t n, int64_t k, int64_t limit) {
  if (k < 0 || k > n) return 0;
  Wide value = 1;
  for (int64_t i = 1; i <= std::min(k, n - k); ++i) {
    value = value * (n - i + 1) / i;
    if (value > limit) return limit + 1;
  }
  return static_cast<int64_t>(value);
}

// Keeps the best grouping seen. In-order groups are credited, so that ranks stay in order where
// that costs next to nothing.
class BestGrouping {
 public:
  BestGrouping(const Csr& graph, int64_t arity, int64_t credit, Out<int32_t> group)
      : g_(graph), credit_(credit), best_(group), trial_(graph.n()) {
    for (int64_t v = 0; v < g_.n(); ++v) trial_[v] = static_cast<int32_t>(v / arity);
    offer(Grouping::packed);
  }
  std::vector<int32_t>& trial() { return trial_; }
  Grouping which() const { return which_; }

  void offer(Grouping which) {
    const Wide value = score(which);
    if (which != Grouping::packed && value >= value_) return;
    value_ = value;
    which_ = which;
    std::copy(trial_.begin(), trial_.end(), best_.begin());
  }

 private:
  Wide score(Grouping which) const {
    uint64_t leaving = 0;  // both directions of a pair, at most 2^64 - 2
    for (int64_t v = 0; v < g_.n(); ++v)
      for (int64_t e = g_.indptr[v]; e < g_.indptr[v + 1]; ++e)
        if (trial_[g_.target[e]] != trial_[v]) leaving += static_cast<uint64_t>(g_.w(e));
    return static_cast<Wide>(leaving) * (which == Grouping::packed ? 1000 - credit_ : 1000);
  }

  const Csr g_;
  int64_t credit_;
  Out<int32_t> best_;
  std::vector<int32_t> trial_;
  Wide value_ = 0;
  Grouping which_ = Grouping::packed;
};

// All groups of `arity` of p objects, sorted by what leaves them, and greedy independent sets of them.
class ListedGroups {
 public:
  ListedGroups(const Csr& graph, int64_t arity, BestGrouping& best)
      : p_(graph.n()), k_(arity), best_(best), weight_(p_ * p_, 0), degree_(p_, 0), of_(p_), used_(p_) {
    for (int64_t v = 0; v < p_; ++v)
      for (int64_t e = graph.indptr[v]; e < graph.indptr[v + 1]; ++e) {
        weight_[v * p_ + graph.target[e]] = static_cast<uint64_t>(graph.w(e));
        degree_[v] += static_cast<uint64_t>(graph.w(e));
      }
    list();
  }

  void try_all() {
    std::vector<int64_t> order(leaving_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return leaving_[a] < leaving_[b]; });
    const size_t starts = std::min<size_t>(kStarts, order.size());
    for (size_t start = 0; start < starts; ++start) take(greedy(order, order[start]), Grouping::smallest_first);
    largest_last(order);
    by_weighted_degree(order);
  }

 private:
  static constexpr size_t kStarts = 10;
  static constexpr int64_t kSteps = 100'000;

  void list() {
    std::vector<int32_t> group(k_);
    std::vector<uint64_t> value(k_ + 1, 0);  // what leaves the first members
    const auto extend = [&](const auto& self, int64_t depth, int64_t from) -> void {
      if (depth == k_) {
        members_.insert(members_.end(), group.begin(), group.end());
        leaving_.push_back(value[k_]);
        return;
      }
      for (int64_t v = from; v <= p_ - (k_ - depth); ++v) {
        uint64_t change = degree_[v];
        for (int64_t i = 0; i < depth; ++i) change -= 2 * weight_[v * p_ + group[i]];
        group[depth] = static_cast<int32_t>(v);
        value[depth + 1] = value[depth] + change;
        self(self, depth + 1, v + 1);
      }
    };
    extend(extend, 0, 0);
  }

  In<int32_t> members(int64_t group) const { return {members_.data() + group * k_, static_cast<size_t>(k_)}; }
  bool free(int64_t group) const {
    for (int32_t v : members(group))
      if (used_[v]) return false;
    return true;
  }
  void mark(int64_t group, char used) {
    for (int32_t v : members(group)) used_[v] = used;
  }

  // The first group, then every one in `order` that shares nothing with those taken.
  std::vector<int64_t> greedy(const std::vector<int64_t>& order, int64_t first) {
    std::fill(used_.begin(), used_.end(), 0);
    std::vector<int64_t> taken{first};
    mark(first, 1);
    for (size_t i = 0; i < order.size() && static_cast<int64_t>(taken.size()) < p_ / k_; ++i)
      if (free(order[i])) {
        mark(order[i], 1);
        taken.push_back(order[i]);
      }
    return taken;
  }

  void take(const std::vector<int64_t>& groups, Grouping which) {
    for (size_t i = 0; i < groups.size(); ++i)
      for (int32_t v : members(groups[i])) best_.trial()[v] = static_cast<int32_t>(i);
    best_.offer(which);
  }

  // Largest values last: the shortest prefix of the sorted groups that holds a whole grouping, found by
  // shortening it below the largest group of the last one found, while the budget of steps lasts.
  void largest_last(const std::vector<int64_t>& order) {
    std::vector<int64_t> rank(order.size());
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int64_t>(i);
    for (auto& list : of_) list.clear();
    for (size_t i = 0; i < order.size(); ++i)
      for (int32_t v : members(order[i])) of_[v].push_back(static_cast<int64_t>(i));
    const auto last = [&](const std::vector<int64_t>& groups) {
      int64_t largest = 0;
      for (int64_t group : groups) largest = std::max(largest, rank[group]);
      return largest;
    };
    std::vector<int64_t> found = greedy(order, order[0]), trial;
    for (int64_t steps = kSteps; steps > 0;) {
      std::fill(used_.begin(), used_.end(), 0);
      trial.clear();
      if (!cover(order, last(found), steps, trial)) break;
      found = trial;
    }
    take(found, Grouping::largest_last);
  }

  // Cover all objects by groups ranked below `end`: the first object without one takes its best possible.
  bool cover(const std::vector<int64_t>& order, int64_t end, int64_t& steps, std::vector<int64_t>& taken) {
    int64_t v = 0;
    while (v < p_ && used_[v]) ++v;
    if (v == p_) return true;
    for (int64_t place : of_[v]) {
      if (place >= end || --steps <= 0) return false;
      const int64_t group = order[place];
      if (!free(group)) continue;
      mark(group, 1);
      taken.push_back(group);
      if (cover(order, end, steps, taken)) return true;
      taken.pop_back();
      mark(group, 0);
    }
    return false;
  }

  // What all groups in conflict with one make together over its own value, as quotient and rest.
  struct Ratio {
    UnsignedWide quotient;
    uint64_t rest, value;
    bool operator>(const Ratio& other) const {
      if (value == 0 || other.value == 0) return value == 0 && other.value != 0;
      if (quotient != other.quotient) return quotient > other.quotient;
      return static_cast<UnsignedWide>(rest) * other.value > static_cast<UnsignedWide>(other.rest) * value;
    }
  };

  // Largest weighted degree first. Groups in conflict are all but those that share nothing with the group: of the
  // r objects outside it each is in C(r-1, k-1) of those, each pair in C(r-2, k-2).
  void by_weighted_degree(const std::vector<int64_t>& sorted) {
    const int64_t r = p_ - k_;
    const UnsignedWide single = choose(r - 1, k_ - 1, INT64_MAX - 1), pair = choose(r - 2, k_ - 2, INT64_MAX - 1);
    UnsignedWide all = 0, total = 0;
    for (uint64_t degree : degree_) all += degree;
    for (uint64_t value : leaving_) total += value;
    std::vector<Ratio> ratio;
    for (size_t i = 0; i < leaving_.size(); ++i) {
      UnsignedWide inside = 0;  // degrees of the members
      for (int32_t v : members(static_cast<int64_t>(i))) inside += degree_[v];
      const uint64_t value = leaving_[i];
      const UnsignedWide disjoint = (all - inside) * single - (all - value - inside) * pair;
      const UnsignedWide conflict = total - value - disjoint;
      if (value == 0) ratio.push_back({0, 0, 0});
      else ratio.push_back({conflict / value, static_cast<uint64_t>(conflict % value), value});
    }
    std::vector<int64_t> order = sorted;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return ratio[a] > ratio[b]; });
    take(greedy(order, order[0]), Grouping::weighted_degree);
  }

  int64_t p_, k_;
  BestGrouping& best_;
  std::vector<uint64_t> weight_, degree_, leaving_;
  std::vector<int32_t> members_;  // k per group
  std::vector<std::vector<int64_t>> of_;  // ranks of the groups of each object
  std::vector<char> used_;
};

// Groups grown one at a time: a seed, then again and again the free object with most weight to the group.
class GrownGroups {
 public:
  GrownGroups(const Csr& graph, int64_t arity, BestGrouping& best)
      : g_(graph), k_(arity), best_(best), degree_(g_.n(), 0), link_(g_.n(), 0), taken_(g_.n()), by_degree_(g_.n()) {
    for (int64_t v = 0; v < g_.n(); ++v)
      for (int64_t e = g_.indptr[v]; e < g_.indptr[v + 1]; ++e) degree_[v] += static_cast<uint64_t>(g_.w(e));
    std::iota(by_degree_.begin(), by_degree_.end(), 0);
    std::stable_sort(by_degree_.begin(), by_degree_.end(),
                     [&](int64_t a, int64_t b) { return degree_[a] < degree_[b]; });
  }

  void try_all() {
    std::vector<int64_t> in_order(g_.n());
    std::iota(in_order.begin(), in_order.end(), 0);
    begin();
    from_heaviest_edges();
    best_.offer(Grouping::heaviest_edge);
    for (const auto& [which, seeds] : {std::pair{Grouping::least_degree, &by_degree_},
                                       std::pair{Grouping::in_order, &in_order}}) {
      begin();
      for (int64_t seed : *seeds)
        if (!taken_[seed]) grow(seed);
      best_.offer(which);
    }
  }

 private:
  void begin() {
    std::fill(taken_.begin(), taken_.end(), 0);
    groups_ = 0;
    idle_ = 0;
  }

  // The free object with the heaviest edge to another free one seeds the next group.
  void from_heaviest_edges() {
    using Entry = std::pair<int64_t, int64_t>;  // weight, minus the object
    std::priority_queue<Entry> queue;
    for (int64_t v = 0; v < g_.n(); ++v) queue.push({heaviest(v), -v});
    while (!queue.empty()) {
      const auto [weight, negative] = queue.top();
      queue.pop();
      const int64_t v = -negative;
      if (taken_[v]) continue;
      const int64_t now = weight > 0 ? heaviest(v) : 0;
      if (now < weight) queue.push({now, negative});
      else grow(v);
    }
  }
  int64_t heaviest(int64_t v) const {
    int64_t most = 0;
    for (int64_t e = g_.indptr[v]; e < g_.indptr[v + 1]; ++e)
      if (!taken_[g_.target[e]]) most = std::max(most, g_.w(e));
    return most;
  }

  void grow(int64_t seed) {
    touched_.clear();
    add(seed);
    for (int64_t size = 1; size < k_; ++size) add(next());
    for (int64_t v : touched_) link_[v] = 0;
    ++groups_;
  }
  void add(int64_t v) {
    taken_[v] = 1;
    best_.trial()[v] = static_cast<int32_t>(groups_);
    for (int64_t e = g_.indptr[v]; e < g_.indptr[v + 1]; ++e) {
      const int64_t u = g_.target[e];
      if (taken_[u]) continue;
      if (link_[u] == 0) touched_.push_back(u);
      link_[u] += static_cast<uint64_t>(g_.w(e));
    }
  }
  // Most weight to the group, then least elsewhere; without any neighbour what talks least.
  int64_t next() {
    int64_t best = -1;
    for (size_t i = 0; i < touched_.size();) {
      const int64_t u = touched_[i];
      if (taken_[u]) {
        link_[u] = 0;
        touched_[i] = touched_.back();
        touched_.pop_back();
        continue;
      }
      if (best < 0 || ahead(u, best)) best = u;
      ++i;
    }
    if (best >= 0) return best;
    while (taken_[by_degree_[idle_]]) ++idle_;
    return by_degree_[idle_];
  }
  bool ahead(int64_t u, int64_t v) const {
    if (link_[u] != link_[v]) return link_[u] > link_[v];
    return degree_[u] != degree_[v] ? degree_[u] < degree_[v] : u < v;
  }

  const Csr g_;
  int64_t k_;
  BestGrouping& best_;
  std::vector<uint64_t> degree_, link_;
  std::vector<char> taken_;
  std::vector<int64_t> by_degree_, touched_;
  int64_t groups_ = 0;
  size_t idle_ = 0;
};

// Groups of `arity` objects, numbered by their smallest members. All weights are positive and arity divides p.
// Lists all possible groups when they are at most `list_up_to`. `credit` is in thousandths.
inline Grouping group_objects(const Csr& graph, int64_t arity, int64_t list_up_to, int64_t credit,
                              Out<int32_t> group) {
  BestGrouping best(graph, arity, credit, group);
  if (arity == 1 || arity >= graph.n()) return Grouping::packed;
  if (choose(graph.n(), arity, list_up_to) <= list_up_to) ListedGroups(graph, arity, best).try_all();
  else GrownGroups(graph, arity, best).try_all();
  std::vector<int32_t> number(graph.n() / arity, -1);
  int32_t next = 0;
  for (int32_t& each : group) {
    if (number[each] < 0) number[each] = next++;
    each = number[each];
  }
  return best.which();
}

}  // namespace hopbytes
