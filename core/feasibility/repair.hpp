// Makes a mapping respect its maximum loads at the least cost, and fills empty PEs. Deterministic: ties go
// to the smaller number. The work depends on the number of tasks on overloaded PEs, not on n x k.
#pragma once
#include <queue>

#include "feasibility/pes.hpp"
#include "util/control.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

struct RepairResult {
  int64_t moves = 0;
  int64_t swaps = 0;
  __int128 cost_change = 0;  // each pair of tasks once; leaving a forbidden PE gains 2^60
  int64_t pes_compared = 0;  // PEs that were considered for a task, or as donors for an empty PE
};

class Repair {
 public:
  Repair(const Csr& graph, In<int64_t> load, Out<int32_t> pe, In<int64_t> capacity,
         const AnyDistance& distance, Nearest nearest, const Control& control, const LinearCost* linear_cost)
      : g_(graph),
        linear_cost_(linear_cost),
        load_(load),
        pe_(pe),
        distance_(distance),
        nearest_(std::move(nearest)),
        control_(control),
        k_(static_cast<int64_t>(capacity.size())),
        room_(room_per_pe(capacity)),
        tasks_(load, pe, k_),
        evaluated_at_(g_.n(), -1),
        near_(graph, pe) {}

  // Every overloaded PE passes tasks on while a PE has room; then it exchanges tasks for lighter ones.
  RepairResult enforce_capacities() {
    for (int64_t p = 0; p < k_ && !cancelled(); ++p)
      if (room_[p] < 0) move_out(p);
    for (int64_t p = 0; p < k_ && !cancelled(); ++p)
      if (room_[p] < 0) exchange(p);
    return result_;
  }

  // Gives every empty PE a task from the nearest PE with at least two. For loads of 1 and maximum loads of 1.
  RepairResult fill_empty() {
    Donors donors(pe_, k_, linear_cost_);
    for (int64_t p = 0; p < k_ && !cancelled(); ++p) {
      if (tasks_.first(p) >= 0) continue;
      int64_t q = nearest_(donors.surplus(), p, 1);
      if (q < 0) break;
      int64_t best = -1, best_change = 0;
      const auto evaluate = [&](int64_t donor) {
        ++result_.pes_compared;
        int64_t scanned_edges = 0;
        for (int64_t u = tasks_.first(donor); u >= 0 && scanned_edges < kMembersTried;
             u = tasks_.next(u), ++scanned_edges) {
          if (!permitted(u, p)) continue;
          near_.collect(u);
          const int64_t change = change_to(u, donor, p);
          if (best < 0 || change < best_change || (change == best_change && u < best))
            best = u, best_change = change;
        }
      };
      evaluate(q);
      // The nearest donor has no task that may be on p: all others are tried in the order of their numbers.
      for (int64_t donor = -1; linear_cost_ && best < 0 && !cancelled();) {
        donor = donors.next(donor + 1, p);
        if (donor < 0) break;
        evaluate(q = donor);
      }
      if (best < 0) continue;
      move(best, p, best_change);
      donors.moved(best, q, p);
    }
    return result_;
  }

 private:
  static constexpr int64_t kMembersTried = 1024;  // bounds the search on very full PEs
  static constexpr int64_t kPartnersTried = 64;
  // neighbours of a moved task that are evaluated again; bounds the work of hubs
  static constexpr int64_t kEvaluatedAgain = 256;

  struct Offer {
    int64_t change;  // change of the cost
    int64_t relief;  // change of the overload
    int64_t task, target;
    int64_t as_of;  // number of moves made when this was computed
    // worse offers are smaller, so that a max-heap yields the best one
    bool operator<(const Offer& other) const {
      const __int128 mine = static_cast<__int128>(change) * other.relief;
      const __int128 its = static_cast<__int128>(other.change) * relief;
      return mine != its ? mine > its : task > other.task;
    }
  };

  int64_t weight(int64_t u) const { return load_.empty() ? 1 : load_[u]; }
  bool cancelled() const { return control_.should_stop(); }

  RoomTree room_per_pe(In<int64_t> capacity) const {
    std::vector<int64_t> room(capacity.begin(), capacity.end());
    for (int64_t u = 0; u < g_.n(); ++u) room[pe_[u]] -= weight(u);
    return RoomTree(room);
  }

  void move(int64_t u, int64_t to, int64_t change) {
    const int64_t from = pe_[u];
    tasks_.move(u, from, to);
    room_.change(from, weight(u));
    room_.change(to, -weight(u));
    pe_[u] = static_cast<int32_t>(to);
    result_.cost_change += change;
    ++result_.moves;
  }

  bool permitted(int64_t u, int64_t q) const {
    return !linear_cost_ || linear_cost_->allows(u, static_cast<int32_t>(q));
  }
  int64_t change_to(int64_t u, int64_t from, int64_t to) const {
    const auto here = static_cast<int32_t>(from), there = static_cast<int32_t>(to);
    const int64_t linear = linear_cost_ ? (*linear_cost_)(u, there) - (*linear_cost_)(u, here) : 0;
    return linear + near_.change(distance_, here, there);
  }

  // Finds the cheapest PE for u other than p: a PE of its neighbours, or the nearest PE with room.
  bool offer(int64_t u, int64_t p, Offer& out) {
    const int64_t w = weight(u);
    if (room_.largest() < w) return false;
    near_.collect(u);
    int64_t best = -1, best_change = 0;
    const auto consider = [&](int64_t q) {
      ++result_.pes_compared;
      if (q < 0 || q == p || q == best || room_[q] < w || !permitted(u, q)) return;
      const int64_t change = change_to(u, p, q);
      if (best < 0 || change < best_change || (change == best_change && q < best))
        best = q, best_change = change;
    };
    for (size_t i = 0; i < near_.tried(); ++i) consider(near_.pe(i));
    consider(nearest_(room_, p, w));
    for (size_t i = 0; i < std::min<size_t>(near_.tried(), 2); ++i) consider(nearest_(room_, near_.pe(i), w));
    // If the nearest PEs with room are forbidden, all others with room are tried, or those that the task
    // lists.
    if (best < 0 && linear_cost_ && linear_cost_->kind[u] != 0) {
      if (linear_cost_->rest[u] >= LinearCost::kForbidden)
        for (const int32_t q : linear_cost_->listed(u)) consider(q);
      else
        for (int64_t q = room_.first(0, k_, w); q >= 0; q = room_.first(q + 1, k_, w)) consider(q);
    }
    if (best < 0) return false;
    out = {best_change, std::min(w, -room_[p]), u, best, result_.moves};
    return true;
  }

  // Moves the task with the least loss first. The losses of its neighbours decrease, so they are evaluated
  // again; a move that has become worse is detected when it comes to the top.
  void move_out(int64_t p) {
    std::priority_queue<Offer> heap;
    const auto evaluate = [&](int64_t u) {
      Offer fresh;
      if (!offer(u, p, fresh)) return;
      evaluated_at_[u] = fresh.as_of;
      heap.push(fresh);
    };
    for (int64_t u = tasks_.first(p); u >= 0 && !cancelled(); u = tasks_.next(u)) evaluate(u);
    while (room_[p] < 0 && !heap.empty() && !cancelled()) {
      const Offer best = heap.top();
      heap.pop();
      // the task is gone or was evaluated again since
      if (pe_[best.task] != p || evaluated_at_[best.task] != best.as_of) continue;
      if (best.as_of != result_.moves) {  // PEs may have been filled since
        evaluate(best.task);
        continue;
      }
      move(best.task, best.target, best.change);
      const int64_t from = g_.indptr[best.task], to = g_.indptr[best.task + 1];
      for (int64_t e = from; e < std::min(to, from + kEvaluatedAgain); ++e)
        if (const int64_t v = g_.target[e]; pe_[v] == p && weight(v) > 0) evaluate(v);
    }
  }

  std::vector<int64_t> members(int64_t p) const {
    std::vector<int64_t> tasks;
    for (int64_t u = tasks_.first(p); u >= 0; u = tasks_.next(u)) tasks.push_back(u);
    std::sort(tasks.begin(), tasks.end(),
              [&](int64_t a, int64_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
    return tasks;
  }

  // Returns the PEs with the most room, in falling order.
  std::vector<int64_t> roomiest() const {
    auto pes = numbers_below<int64_t>(k_);
    const int64_t kept = std::min(k_, kPartnersTried);
    std::partial_sort(pes.begin(), pes.begin() + kept, pes.end(), [&](int64_t a, int64_t b) {
      return room_[a] != room_[b] ? room_[a] > room_[b] : a < b;
    });
    pes.resize(kept);
    return pes;
  }

  // No PE has room for a task of p: exchanges one for a lighter one elsewhere, the largest relief first.
  void exchange(int64_t p) {
    while (room_[p] < 0 && work_left_ > 0 && !cancelled()) {
      std::vector<int64_t> own = members(p);
      if (static_cast<int64_t>(own.size()) > kMembersTried) own.resize(kMembersTried);
      int64_t relief = 0, give = -1, take = -1;
      for (int64_t q : roomiest()) {
        // PEs are visited in the order of decreasing room, so the remaining ones are not better.
        if (q == p || room_[q] <= 0 || relief == -room_[p]) break;
        std::vector<int64_t> other = members(q);
        if (linear_cost_) std::erase_if(other, [&](int64_t v) { return !permitted(v, p); });
        work_left_ -= static_cast<int64_t>(own.size() + other.size());
        for (int64_t u : own) {
          if (!permitted(u, q)) continue;
          const int64_t v = partner(other, weight(u), room_[q], -room_[p]);
          const int64_t gain = v < 0 ? 0 : std::min(weight(u) - weight(v), -room_[p]);
          if (gain > relief) relief = gain, give = u, take = v;
        }
      }
      work_left_ -= k_;
      if (give < 0) return;
      const int64_t q = pe_[take];
      near_.collect(give);
      move(give, q, change_to(give, p, q));
      near_.collect(take);
      move(take, p, change_to(take, q, p));
      ++result_.swaps;
    }
  }

  // From tasks sorted by falling weight, returns the one to take for a task of weight w: one that ends the
  // overload if the room permits it, otherwise the lightest that the room permits; -1 if none helps.
  int64_t partner(const std::vector<int64_t>& tasks, int64_t w, int64_t room, int64_t overload) const {
    const int64_t lightest = w - room;
    const auto enough =
        std::partition_point(tasks.begin(), tasks.end(), [&](int64_t v) { return weight(v) > w - overload; });
    if (enough != tasks.end() && weight(*enough) >= lightest) return *enough;
    const auto below = std::partition_point(
        tasks.begin(), tasks.end(), [&](int64_t v) { return weight(v) >= std::max<int64_t>(lightest, 1); });
    if (below == tasks.begin() || weight(*(below - 1)) >= w) return -1;
    return *(below - 1);
  }

  const Csr g_;
  const LinearCost* linear_cost_;
  In<int64_t> load_;
  Out<int32_t> pe_;
  AnyDistance distance_;
  Nearest nearest_;
  const Control control_;
  int64_t k_;
  RoomTree room_;
  TaskLists tasks_;  // those with load
  std::vector<int64_t> evaluated_at_;  // number of moves made when a task was last evaluated
  NearPes near_;
  int64_t work_left_ = 20'000'000;  // steps spent on exchanges before giving up
  RepairResult result_;
};

}  // namespace hopbytes
