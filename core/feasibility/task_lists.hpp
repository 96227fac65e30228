// The tasks with load on every PE, as linked lists. The task that came last is the first.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/csr.hpp"

namespace hopbytes {

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

}  // namespace hopbytes
