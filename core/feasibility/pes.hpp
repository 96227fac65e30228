// What repair asks of PEs: their tasks, those near a task, the nearest with room, and donors for empty ones.
#pragma once
#include <functional>

#include "graph/any_distance.hpp"
#include "graph/csr.hpp"
#include "graph/linear_cost.hpp"
#include "util/sparse_sums.hpp"

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

// The PEs that hold the neighbours of a task, the heaviest first, and what a move costs with them.
class NearPes {
 public:
  NearPes(const Csr& graph, In<int32_t> pe) : g_(graph), pe_(pe) {}

  // Collects the weight from u to every PE that holds a neighbour, the heaviest first (then by number).
  void collect(int64_t u) {
    sums_.start(g_.indptr[u + 1] - g_.indptr[u]);
    for (int64_t e = g_.indptr[u]; e < g_.indptr[u + 1]; ++e) sums_.add(pe_[g_.target[e]], g_.w(e));
    near_ = sums_.entries();
    const size_t kept = std::min(near_.size(), kTried + 1);
    std::partial_sort(near_.begin(), near_.begin() + kept, near_.end(), [](const auto& a, const auto& b) {
      return a.sum != b.sum ? a.sum > b.sum : a.key < b.key;
    });
  }

  // Only the first of them are worth a try as the new PE of the task.
  size_t tried() const { return std::min(near_.size(), kTried); }
  int32_t pe(size_t i) const { return near_[i].key; }

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
  SparseSums sums_;
  std::vector<SparseSums::Entry> near_;
};

// Room per PE with a tree of maxima: finds the first PE of a range that has room for w, in O(log k).
class RoomTree {
 public:
  explicit RoomTree(const std::vector<int64_t>& room)
      : leaves_(static_cast<int64_t>(std::bit_ceil(room.size()))), best_(2 * leaves_, INT64_MIN) {
    std::copy(room.begin(), room.end(), best_.begin() + leaves_);
    for (int64_t i = leaves_ - 1; i > 0; --i) best_[i] = std::max(best_[2 * i], best_[2 * i + 1]);
  }
  int64_t operator[](int64_t pe) const { return best_[leaves_ + pe]; }
  int64_t largest() const { return best_[1]; }
  void change(int64_t pe, int64_t difference) {
    int64_t i = leaves_ + pe;
    best_[i] += difference;
    for (i /= 2; i > 0; i /= 2) best_[i] = std::max(best_[2 * i], best_[2 * i + 1]);
  }
  // Returns the first PE in [begin, end) with room >= w, -1 if there is none.
  int64_t first(int64_t begin, int64_t end, int64_t w) const { return search(1, 0, leaves_, begin, end, w); }

 private:
  int64_t search(int64_t node, int64_t low, int64_t high, int64_t begin, int64_t end, int64_t w) const {
    if (high <= begin || end <= low || best_[node] < w) return -1;
    if (high - low == 1) return low;
    const int64_t middle = (low + high) / 2;
    const int64_t left = search(2 * node, low, middle, begin, end, w);
    return left >= 0 ? left : search(2 * node + 1, middle, high, begin, end, w);
  }

  int64_t leaves_;
  std::vector<int64_t> best_;
};

// Finds the nearest PE with room, level by level outwards: labels ascend, so a subtree is a range of PEs.
class NearestInTree {
 public:
  NearestInTree(In<uint64_t> label, In<int64_t> bit_cost) : label_(label) {
    const auto widest = static_cast<int>(std::bit_width(label.front() ^ label.back()));
    for (int width = 1; width <= widest; ++width)
      if (width == widest || bit_cost[width + 1] != bit_cost[width]) widths_.push_back(width);
  }
  int64_t operator()(const RoomTree& room, int64_t pe, int64_t w) const {
    if (room[pe] >= w) return pe;
    for (int width : widths_) {
      const uint64_t low = width == 64 ? 0 : label_[pe] >> width << width;
      const uint64_t high = width == 64 ? ~uint64_t{0} : low | ((uint64_t{1} << width) - 1);
      const auto begin = std::lower_bound(label_.begin(), label_.end(), low);
      const auto end = std::upper_bound(begin, label_.end(), high);
      const int64_t found = room.first(begin - label_.begin(), end - label_.begin(), w);
      if (found >= 0) return found;
    }
    return -1;
  }

 private:
  In<uint64_t> label_;
  std::vector<int> widths_;  // bit widths at which the distance changes, innermost first
};

// Finds the nearest PE with room under any distance by scanning all k PEs.
class NearestByScan {
 public:
  NearestByScan(const AnyDistance& distance, int64_t k) : distance_(distance), k_(k) {}
  int64_t operator()(const RoomTree& room, int64_t pe, int64_t w) const {
    if (room[pe] >= w) return pe;
    return distance_.in_form([&](const auto& distance) {
      int64_t best = -1, least = 0;
      for (int64_t q = 0; q < k_; ++q) {
        if (room[q] < w) continue;
        const int64_t length = distance(static_cast<int32_t>(pe), static_cast<int32_t>(q));
        if (best < 0 || length < least) best = q, least = length;
      }
      return best;
    });
  }

 private:
  AnyDistance distance_;
  int64_t k_;
};

// Returns the nearest PE with room for w to a PE, -1 if there is none.
using Nearest = std::function<int64_t(const RoomTree& room, int64_t pe, int64_t w)>;

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
