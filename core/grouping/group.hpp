// The grouping of TreeMatch (Jeannot and Mercier, Euro-Par 2010): divides p objects into p / arity groups so
// that little weight remains between groups. Small cases list all possible groups and search for independent
// sets in their conflict graph; the smallest cases are also solved exactly. Large cases grow groups along
// heavy edges. Deterministic: ties go to the smaller number.
#pragma once
#include <bit>
#include <queue>

#include "grouping/listed_groups.hpp"

namespace hopbytes {

// Grows one group at a time: from a seed, by the free object with the largest weight to the group.
class GrownGroups {
 public:
  GrownGroups(const Csr& graph, int64_t arity, BestGrouping& best)
      : g_(graph),
        k_(arity),
        best_(best),
        degree_(g_.n(), 0),
        link_(g_.n(), 0),
        taken_(g_.n()),
        by_degree_(numbers_below<int64_t>(g_.n())) {
    for (int64_t v = 0; v < g_.n(); ++v)
      for (int64_t e = g_.indptr[v]; e < g_.indptr[v + 1]; ++e) degree_[v] += static_cast<uint64_t>(g_.w(e));
    std::stable_sort(by_degree_.begin(), by_degree_.end(),
                     [&](int64_t a, int64_t b) { return degree_[a] < degree_[b]; });
  }

  void try_all() {
    begin();
    from_heaviest_edges();
    best_.offer(Grouping::heaviest_edge);
    from_seeds(by_degree_, Grouping::least_degree);
    from_seeds(numbers_below<int64_t>(g_.n()), Grouping::in_order);
  }

 private:
  void begin() {
    std::fill(taken_.begin(), taken_.end(), 0);
    groups_ = 0;
    idle_ = 0;
  }

  void from_seeds(const std::vector<int64_t>& seeds, Grouping which) {
    begin();
    for (const int64_t seed : seeds)
      if (!taken_[seed]) grow(seed);
    best_.offer(which);
  }

  // The next seed is the free object with the heaviest edge to another free object.
  void from_heaviest_edges() {
    using Entry = std::pair<int64_t, int64_t>;  // the weight and the negated object
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
  // Returns the object with the largest weight to the group, of equals with the smallest elsewhere; if the
  // group has no free neighbour, the object with the smallest total weight.
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

// Optimal grouping of at most a dozen objects, by dynamic programming over the sets of free objects: the
// first free one is combined with all possible partners. O(3^p) steps and 2^p numbers.
class ExactGroups {
 public:
  static constexpr int64_t kMost = 12;

  ExactGroups(const Csr& graph, int64_t arity, BestGrouping& best)
      : p_(static_cast<int>(graph.n())),
        arity_(static_cast<int>(arity)),
        best_(best),
        inside_(size_t{1} << p_, 0),
        kept_(inside_.size(), 0),
        chosen_(inside_.size(), 0) {
    for (uint32_t set = 1; set < inside_.size(); ++set) {
      const int first = std::countr_zero(set);
      inside_[set] = inside_[set & (set - 1)];
      for (int64_t e = graph.indptr[first]; e < graph.indptr[first + 1]; ++e)
        if (set >> graph.target[e] & 1 && graph.target[e] != first)
          inside_[set] += static_cast<uint64_t>(graph.w(e));
    }
  }

  void try_it() {
    for (uint32_t free = 1; free < kept_.size(); ++free)
      if (std::popcount(free) % arity_ == 0) choose_for_first(free);
    int32_t number = 0;
    for (uint32_t free = static_cast<uint32_t>(kept_.size()) - 1; free; free ^= chosen_[free], ++number)
      for (int v = 0; v < p_; ++v)
        if (chosen_[free] >> v & 1) best_.trial()[v] = number;
    best_.offer(Grouping::exact);
  }

 private:
  // Ties go to the group with the smallest number, read as a bit set.
  void choose_for_first(uint32_t free) {
    const uint32_t first = free & -free, rest = free ^ first;
    uint32_t others = 0;
    do {
      others = (others - rest) & rest;  // the next subset, in ascending order
      if (std::popcount(others) != arity_ - 1) continue;
      const uint32_t group = first | others;
      const uint64_t kept = inside_[group] + kept_[free ^ group];
      if (chosen_[free] == 0 || kept > kept_[free]) kept_[free] = kept, chosen_[free] = group;
    } while (others != rest);
  }

  int p_, arity_;
  BestGrouping& best_;
  // weight inside a set as one group, and inside the best groups of a set
  std::vector<uint64_t> inside_, kept_;
  std::vector<uint32_t> chosen_;  // the group of the first object of a set
};

// Computes groups of `arity` objects, numbered by their smallest members. All weights are positive and arity
// divides p. Lists all possible groups if there are at most `list_up_to`. `credit` is in thousandths, see
// BestGrouping. The answer is the same for any number of threads.
inline Grouping group_objects(const Csr& graph, int64_t arity, int64_t list_up_to, int64_t credit,
                              Out<int32_t> group, Team& team) {
  BestGrouping best(graph, arity, credit, group);
  if (arity == 1 || arity >= graph.n()) return Grouping::packed;
  if (choose(graph.n(), arity, list_up_to) <= list_up_to) {
    ListedGroups(graph, arity, best, team).try_all();
    if (graph.n() <= ExactGroups::kMost) ExactGroups(graph, arity, best).try_it();
  } else {
    GrownGroups(graph, arity, best).try_all();
  }
  std::vector<int32_t> number(graph.n() / arity, -1);
  int32_t next = 0;
  for (int32_t& each : group) {
    if (number[each] < 0) number[each] = next++;
    each = number[each];
  }
  return best.which();
}

}  // namespace hopbytes
