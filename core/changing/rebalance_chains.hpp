// Ends the overload of PEs of a changing mapping by the cheapest chains of moves to PEs with room.
#pragma once
#include <queue>

#include "changing/placement.hpp"

namespace hopbytes {

class RebalanceChains {
 public:
  explicit RebalanceChains(Placement& placement) : state_(placement) {}

  // Moves tasks until every PE complies or nothing helps.
  void run() {
    if (!state_.any_overloaded()) return;
    slot_.assign(state_.k(), -1);
    state_.count_work(state_.k());
    for (int64_t left = overload_limit(); left > 0 && state_.any_overloaded(); --left) {
      const auto p = static_cast<int32_t>(state_.first_overloaded());
      if (!chain(p) && !far_move(p)) return;
    }
  }

 private:
  static constexpr int64_t kTasksTried = 512, kPesVisited = 48;
  struct Reached {
    int32_t pe, from, task;  // `task` comes from the PE of entry `from`
    int64_t cost;
    bool done;
  };

  // Every step moves a task out of an overloaded PE; that it takes more steps than tasks are there means a
  // cycle.
  int64_t overload_limit() const {
    int64_t tasks = 0;
    for (int64_t p = 0; p < state_.k(); ++p)
      if (state_.overloaded(p)) tasks += state_.held[p];
    return 4 * tasks;
  }

  // Finds the cheapest chain: a task of p moves to another PE, one of that PE to a third, until there is
  // room.
  bool chain(int32_t p) {
    reached_.clear();
    queue_ = {};
    reached_.push_back({p, -1, -1, 0, false});
    slot_[p] = 0;
    queue_.push({0, 0});
    int64_t visited = 0;
    int32_t end = -1;
    while (!queue_.empty() && visited < kPesVisited) {
      const auto [cost, at] = queue_.top();
      queue_.pop();
      if (reached_[at].done || cost != reached_[at].cost) continue;
      reached_[at].done = true;
      if (at > 0 && state_.room(reached_[at].pe) >= state_.load[reached_[at].task]) {
        end = at;
        break;
      }
      ++visited;
      expand(at);
    }
    for (const Reached& each : reached_) slot_[each.pe] = -1;
    if (end < 0) return false;
    for (int32_t at = end; at > 0; at = reached_[at].from) state_.move(reached_[at].task, reached_[at].pe);
    return true;
  }

  void expand(int32_t at) {
    const int32_t p = reached_[at].pe;
    const int64_t needed =
        at == 0 ? 1 : state_.load[reached_[at].task] - std::max<int64_t>(state_.room(p), 0);
    int64_t tried = 0;
    for (int32_t u = state_.first_task(p, true); u >= 0 && tried < kTasksTried; u = state_.next[u], ++tried) {
      if (state_.load[u] < needed) continue;
      state_.gather(u, near_);
      const int64_t here = state_.cost_on(u, p, near_);
      for (const int32_t q : near_) {
        if (q == p || !state_.usable[q]) continue;
        const int64_t cost = reached_[at].cost + std::max<int64_t>(state_.cost_on(u, q, near_) - here, 0) + 1;
        reach(q, at, u, cost);
      }
      state_.forget(near_);
    }
  }

  void reach(int32_t q, int32_t from, int32_t task, int64_t cost) {
    int32_t& slot = slot_[q];
    if (slot < 0) {
      slot = static_cast<int32_t>(reached_.size());
      reached_.push_back({q, from, task, cost, false});
    } else if (reached_[slot].done || cost >= reached_[slot].cost) {
      return;
    }
    reached_[slot] = {q, from, task, cost, false};
    queue_.push({cost, slot});
  }

  // Moves the task with the least loss to the nearest PE with room, wherever that is.
  bool far_move(int32_t p) {
    int32_t best = -1, target = -1;
    int64_t least = 0, tried = 0;
    for (const bool at_border : {true, false})
      for (int32_t u = state_.first_task(p, at_border); u >= 0 && tried < kTasksTried;
           u = state_.next[u], ++tried) {
        if (state_.load[u] == 0) continue;
        const auto q = static_cast<int32_t>(state_.nearest_room(p, state_.load[u]));
        if (q < 0) continue;
        state_.gather(u, near_);
        const int64_t loss = state_.cost_on(u, q, near_) - state_.cost_on(u, p, near_);
        state_.forget(near_);
        if (best < 0 || loss < least) best = u, target = q, least = loss;
      }
    if (best >= 0) state_.move(best, target);
    return best >= 0;
  }

  Placement& state_;
  std::vector<int32_t> slot_, near_;
  std::vector<Reached> reached_;
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

}  // namespace hopbytes
