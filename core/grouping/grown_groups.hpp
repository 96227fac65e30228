// Grouping of many objects: groups are grown along heavy edges.
#pragma once
#include <numeric>
#include <queue>

#include "grouping/best_grouping.hpp"

namespace hopbytes {

// Grows one group at a time: starts with a seed and repeatedly adds the free object with the largest weight
// to the group.
class GrownGroups {
 public:
  GrownGroups(const Csr& graph, int64_t arity, BestGrouping& best)
      : g_(graph),
        k_(arity),
        best_(best),
        degree_(g_.n(), 0),
        link_(g_.n(), 0),
        taken_(g_.n()),
        by_degree_(g_.n()) {
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
    for (const auto& [which, seeds] :
         {std::pair{Grouping::least_degree, &by_degree_}, std::pair{Grouping::in_order, &in_order}}) {
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
  // Returns the object with the largest weight to the group, then with the smallest weight elsewhere; if the
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

}  // namespace hopbytes
