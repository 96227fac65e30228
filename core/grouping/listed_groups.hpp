// Grouping of few objects as in TreeMatch: independent sets in the conflict graph of all possible groups.
#pragma once
#include "graph/csr.hpp"
#include "util/parallel.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

using Wide = __int128;
using UnsignedWide = unsigned __int128;

// The heuristic that produced a grouping. The values stand in the order in which the heuristics are tried.
enum class Grouping : int {
  packed,
  smallest_first,
  largest_last,
  weighted_degree,
  heaviest_edge,
  least_degree,
  in_order,
  exact
};

// Keeps the grouping with the least weight between groups. That of consecutive objects gets a credit, so that
// the ranks stay in order where that costs next to nothing.
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
    uint64_t leaving = 0;  // Counts both directions of a pair; the sum is at most 2^64 - 2.
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

// Returns the binomial coefficient C(n, k), or limit + 1 if it is larger than `limit`.
inline int64_t choose(int64_t n, int64_t k, int64_t limit) {
  if (k < 0 || k > n) return 0;
  Wide value = 1;
  for (int64_t i = 1; i <= std::min(k, n - k); ++i) {
    value = value * (n - i + 1) / i;
    if (value > limit) return limit + 1;
  }
  return static_cast<int64_t>(value);
}

// Lists all groups of `arity` out of p objects, sorted by the weight that leaves them, and selects greedy
// independent sets. The threads of a team share the groups to evaluate, and the first groups of greedy sets.
class ListedGroups {
 public:
  ListedGroups(const Csr& graph, int64_t arity, BestGrouping& best, Team& team)
      : p_(graph.n()),
        k_(arity),
        best_(best),
        team_(team),
        weight_(p_ * p_, 0),
        degree_(p_, 0),
        of_(p_),
        used_(p_) {
    for (int64_t v = 0; v < p_; ++v)
      for (int64_t e = graph.indptr[v]; e < graph.indptr[v + 1]; ++e) {
        weight_[v * p_ + graph.target[e]] = static_cast<uint64_t>(graph.w(e));
        degree_[v] += static_cast<uint64_t>(graph.w(e));
      }
    list();
  }

  void try_all() {
    auto order = numbers_below<int64_t>(std::ssize(leaving_));
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return leaving_[a] < leaving_[b]; });
    std::vector<std::vector<int64_t>> found(std::min<size_t>(kStarts, order.size()));
    parallel_for(std::ssize(found), team_, [&](int64_t start) {
      std::vector<char> used(p_, 0);
      found[start] = greedy(order, order[start], used);
    });
    for (const auto& groups : found) take(groups, Grouping::smallest_first);
    largest_last(order);
    by_weighted_degree(order);
  }

 private:
  static constexpr size_t kStarts = 10;
  static constexpr int64_t kSteps = 100'000;
  static constexpr int64_t kStep = 1024;  // groups that a thread evaluates in a row

  // The groups of each first member have a range of their own, in lexicographic order.
  void list() {
    std::vector<int64_t> begin(p_ + 1, 0);
    for (int64_t v = 0; v < p_; ++v) begin[v + 1] = begin[v] + choose(p_ - v - 1, k_ - 1, INT64_MAX - 1);
    leaving_.resize(begin[p_]);
    members_.resize(begin[p_] * k_);
    parallel_for(p_, team_, [&](int64_t first) {
      std::vector<int32_t> group(k_);
      std::vector<uint64_t> value(k_ + 1, 0);  // the weight that leaves the first members
      int64_t at = begin[first];
      const auto extend = [&](const auto& self, int64_t depth, int64_t from, int64_t end) -> void {
        if (depth == k_) {
          std::copy(group.begin(), group.end(), members_.begin() + at * k_);
          leaving_[at++] = value[k_];
          return;
        }
        for (int64_t v = from; v < end; ++v) {
          uint64_t change = degree_[v];
          for (int64_t i = 0; i < depth; ++i) change -= 2 * weight_[v * p_ + group[i]];
          group[depth] = static_cast<int32_t>(v);
          value[depth + 1] = value[depth] + change;
          self(self, depth + 1, v + 1, p_ - (k_ - depth) + 2);
        }
      };
      if (first <= p_ - k_) extend(extend, 0, first, first + 1);
    });
  }

  In<int32_t> members(int64_t group) const { return {members_.data() + group * k_, static_cast<size_t>(k_)}; }
  bool free(int64_t group, const std::vector<char>& used) const {
    for (int32_t v : members(group))
      if (used[v]) return false;
    return true;
  }
  void mark(int64_t group, std::vector<char>& used, char value) const {
    for (int32_t v : members(group)) used[v] = value;
  }

  // Takes the first group, then every group in `order` that is disjoint from those taken.
  std::vector<int64_t> greedy(const std::vector<int64_t>& order, int64_t first,
                              std::vector<char>& used) const {
    std::fill(used.begin(), used.end(), 0);
    std::vector<int64_t> taken{first};
    mark(first, used, 1);
    for (size_t i = 0; i < order.size() && static_cast<int64_t>(taken.size()) < p_ / k_; ++i)
      if (free(order[i], used)) {
        mark(order[i], used, 1);
        taken.push_back(order[i]);
      }
    return taken;
  }

  void take(const std::vector<int64_t>& groups, Grouping which) {
    for (size_t i = 0; i < groups.size(); ++i)
      for (int32_t v : members(groups[i])) best_.trial()[v] = static_cast<int32_t>(i);
    best_.offer(which);
  }

  // "Largest values last": the shortest prefix of the sorted groups that contains a complete grouping, found
  // by searching below the largest group of the last one, while the budget of steps lasts.
  void largest_last(const std::vector<int64_t>& order) {
    std::vector<int64_t> rank(order.size());
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int64_t>(i);
    for (size_t i = 0; i < order.size(); ++i)
      for (int32_t v : members(order[i])) of_[v].push_back(static_cast<int64_t>(i));
    const auto last = [&](const std::vector<int64_t>& groups) {
      int64_t largest = 0;
      for (int64_t group : groups) largest = std::max(largest, rank[group]);
      return largest;
    };
    std::vector<int64_t> found = greedy(order, order[0], used_), trial;
    for (int64_t steps = kSteps; steps > 0;) {
      std::fill(used_.begin(), used_.end(), 0);
      trial.clear();
      if (!cover(order, last(found), steps, trial)) break;
      found = trial;
    }
    take(found, Grouping::largest_last);
  }

  // Covers all objects with groups ranked below `end`: the first uncovered one takes the best possible.
  bool cover(const std::vector<int64_t>& order, int64_t end, int64_t& steps, std::vector<int64_t>& taken) {
    int64_t v = 0;
    while (v < p_ && used_[v]) ++v;
    if (v == p_) return true;
    for (int64_t place : of_[v]) {
      if (place >= end || --steps <= 0) return false;
      const int64_t group = order[place];
      if (!free(group, used_)) continue;
      mark(group, used_, 1);
      taken.push_back(group);
      if (cover(order, end, steps, taken)) return true;
      taken.pop_back();
      mark(group, used_, 0);
    }
    return false;
  }

  // The total value of all groups in conflict with a group over its own value, as quotient and remainder.
  struct Ratio {
    UnsignedWide quotient;
    uint64_t rest, value;
    bool operator>(const Ratio& other) const {
      if (value == 0 || other.value == 0) return value == 0 && other.value != 0;
      if (quotient != other.quotient) return quotient > other.quotient;
      return static_cast<UnsignedWide>(rest) * other.value > static_cast<UnsignedWide>(other.rest) * value;
    }
  };

  // "Largest weighted degree first". A group is in conflict with all groups except those that are disjoint
  // from it. Of the r objects outside the group, each is in C(r-1, k-1) disjoint groups, and each pair in
  // C(r-2, k-2).
  void by_weighted_degree(const std::vector<int64_t>& sorted) {
    const int64_t r = p_ - k_;
    const UnsignedWide single = choose(r - 1, k_ - 1, INT64_MAX - 1),
                       pair = choose(r - 2, k_ - 2, INT64_MAX - 1);
    UnsignedWide all = 0, total = 0;
    for (uint64_t degree : degree_) all += degree;
    for (uint64_t value : leaving_) total += value;
    std::vector<Ratio> ratio(leaving_.size());
    parallel_ranges(std::ssize(leaving_), kStep, team_, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        UnsignedWide inside = 0;  // weighted degrees of the members
        for (int32_t v : members(i)) inside += degree_[v];
        const uint64_t value = leaving_[i];
        const UnsignedWide disjoint = (all - inside) * single - (all - value - inside) * pair;
        const UnsignedWide conflict = total - value - disjoint;
        if (value == 0) ratio[i] = {0, 0, 0};
        else ratio[i] = {conflict / value, static_cast<uint64_t>(conflict % value), value};
      }
    });
    std::vector<int64_t> order = sorted;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return ratio[a] > ratio[b]; });
    take(greedy(order, order[0], used_), Grouping::weighted_degree);
  }

  int64_t p_, k_;
  BestGrouping& best_;
  Team& team_;
  std::vector<uint64_t> weight_, degree_, leaving_;
  std::vector<int32_t> members_;  // k per group
  std::vector<std::vector<int64_t>> of_;  // ranks of the groups of each object
  std::vector<char> used_;
};

}  // namespace hopbytes
