// PEs with tasks to spare for empty ones.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/csr.hpp"
#include "graph/linear_cost.hpp"
#include "feasibility/nearest.hpp"

namespace hopbytes {

// A donor holds at least two tasks. Without linear costs any of them may go anywhere. With them a task is
// open if it may be on PEs that it does not list; any other task may only be on some of those that it lists.
class Donors {
 public:
  Donors(In<int32_t> pe, int64_t k, const LinearCost* linear_cost)
      : pe_(pe), linear_cost_(linear_cost), surplus_(tasks_beyond_the_first(k)), giving_(open_tasks(k)) {
    if (!linear_cost_) return;
    listing_.resize(k);
    for (int64_t u = 0; u < linear_cost_->n(); ++u)
      if (!open(u))
        for (const int32_t p : linear_cost_->listed(u)) listing_[p].push_back(static_cast<int32_t>(u));
  }

  // The number of tasks of every PE beyond the first.
  const RoomTree& surplus() const { return surplus_; }

  // Returns the first donor from `begin` on that may have a task for p, -1 if there is none: one with an open
  // task or with a task that lists p. O(log k + tasks that list p).
  int64_t next(int64_t begin, int64_t p) const {
    int64_t found = giving_.first(begin, static_cast<int64_t>(listing_.size()), 1);
    for (const int32_t u : listing_[p])
      if (pe_[u] >= begin && surplus_[pe_[u]] > 0 && (found < 0 || pe_[u] < found)) found = pe_[u];
    return found;
  }

  // A task has moved from a donor to an empty PE.
  void moved(int64_t task, int64_t from, int64_t to) {
    surplus_.change(from, -1);
    surplus_.change(to, 1);
    if (!linear_cost_) return;
    if (open(task)) --open_[from], ++open_[to];
    for (const int64_t p : {from, to}) giving_.change(p, (surplus_[p] > 0 ? open_[p] : 0) - giving_[p]);
  }

 private:
  bool open(int64_t u) const { return linear_cost_->rest[u] < LinearCost::kForbidden; }

  std::vector<int64_t> tasks_beyond_the_first(int64_t k) const {
    std::vector<int64_t> surplus(k, -1);
    for (const int32_t p : pe_) ++surplus[p];
    return surplus;
  }
  std::vector<int64_t> open_tasks(int64_t k) {
    open_.assign(k, 0);
    if (linear_cost_)
      for (int64_t u = 0; u < linear_cost_->n(); ++u) open_[pe_[u]] += open(u);
    std::vector<int64_t> giving(k, 0);
    for (int64_t p = 0; p < k; ++p)
      if (surplus_[p] > 0) giving[p] = open_[p];
    return giving;
  }

  In<int32_t> pe_;
  const LinearCost* linear_cost_;
  std::vector<int64_t> open_;  // open tasks per PE
  RoomTree surplus_, giving_;  // giving: open tasks of donors
  std::vector<std::vector<int32_t>> listing_;  // tasks that are not open, by the PEs that they list
};

}  // namespace hopbytes
