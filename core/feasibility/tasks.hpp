// The tasks of every PE, and the PEs near a task.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/csr.hpp"

namespace hopbytes {

// The tasks with load on every PE, as linked lists. The task that came last is the first.
class TaskLists {
 public:
  // An empty `load` means 1 per task.
  TaskLists(In<int64_t> load, In<int32_t> pe, int64_t k)
      : first_(k, -1), next_(pe.size(), -1), previous_(pe.size(), -1) {
    for (int64_t u = std::ssize(pe) - 1; u >= 0; --u)
      if (load.empty() || load[u] > 0) link(u, pe[u]);
  }

  // -1 if there is none.
  int64_t first(int64_t p) const { return first_[p]; }
  int64_t next(int64_t u) const { return next_[u]; }

  void move(int64_t u, int64_t from, int64_t to) {
    unlink(u, from);
    link(u, to);
  }

 private:
  void link(int64_t u, int64_t p) {
    previous_[u] = -1;
    next_[u] = first_[p];
    if (first_[p] >= 0) previous_[first_[p]] = u;
    first_[p] = u;
  }
  void unlink(int64_t u, int64_t p) {
    if (previous_[u] >= 0) next_[previous_[u]] = next_[u];
    else first_[p] = next_[u];
    if (next_[u] >= 0) previous_[next_[u]] = previous_[u];
  }

  std::vector<int64_t> first_, next_, previous_;
};

// The PEs that hold the neighbours of a task, the heaviest first, and what a move of the task costs with
// them.
class NearPes {
 public:
  NearPes(const Csr& graph, In<int32_t> pe, int64_t k) : g_(graph), pe_(pe), at_(k, 0) {}

  // Collects the weight from u to every PE that holds a neighbour, the heaviest first (then by number).
  void collect(int64_t u) {
    near_.clear();
    for (int64_t e = g_.indptr[u]; e < g_.indptr[u + 1]; ++e) {
      const int32_t q = pe_[g_.target[e]];
      if (at_[q] == 0) {
        near_.push_back({q, 0});
        at_[q] = static_cast<int32_t>(near_.size());
      }
      near_[at_[q] - 1].second += g_.w(e);
    }
    for (const auto& [q, w] : near_) at_[q] = 0;
    const size_t kept = std::min(near_.size(), kTried + 1);
    std::partial_sort(near_.begin(), near_.begin() + kept, near_.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
  }

  // Only the first of them are worth a try as the new PE of the task.
  size_t tried() const { return std::min(near_.size(), kTried); }
  int32_t pe(size_t i) const { return near_[i].first; }

  // Returns the change of the cost of the task's edges if it moves.
  int64_t change(const AnyDistance& distance, int32_t from, int32_t to) const {
    int64_t change = 0;
    for (const auto& [q, w] : near_) change += w * (distance(q, to) - distance(q, from));
    return change;
  }

 private:
  static constexpr size_t kTried = 16;

  const Csr g_;
  In<int32_t> pe_;
  std::vector<int32_t> at_;  // one more than the index of a PE in near_, 0 if it is not there
  std::vector<std::pair<int32_t, int64_t>> near_;
};

}  // namespace hopbytes
