// Localised FM on a changing graph: moves, and exchanges with PEs that are full, around a few tasks.
#pragma once
#include <queue>
#include <tuple>

#include "changing/placement.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

struct LocalSettings {
  int64_t price = 0;          // cost of a task that leaves its PE
  int64_t most_displaced = 0; // tasks that may leave their PEs
  int64_t fruitless = 40;     // moves without a new best after which a search stops
  int64_t seeds = 6;          // tasks from which one search starts
  int64_t rounds = 6;         // times that tasks near moved ones are searched again
  int64_t work = 0;           // scanned edges after which no search begins
  int64_t keep_one = 1;       // no PE gives away its last task
};

class LocalSearch {
 public:
  LocalSearch(Placement& placement, const LocalSettings& settings) : state_(placement), settings_(settings) {}

  // Lowers J plus migration around some tasks, until nothing improves or the work is used up.
  void improve(std::vector<int32_t> tasks) {
    const int64_t until = state_.counter[kWork] + settings_.work;
    for (int64_t round = 0; round < settings_.rounds && !tasks.empty(); ++round) {
      sort_and_deduplicate(tasks);
      std::vector<int32_t> again;
      for (size_t i = 0; i < tasks.size() && state_.counter[kWork] < until;) {
        std::vector<int32_t> seeds;
        for (; i < tasks.size() && static_cast<int64_t>(seeds.size()) < settings_.seeds; ++i)
          if (state_.pe[tasks[i]] >= 0) seeds.push_back(tasks[i]);
        search(seeds, again);
      }
      tasks.swap(again);
    }
  }

 private:
  struct Offer {
    int64_t change;
    int32_t task, target;
    bool full;  // the target has no room, so that another task has to come back
    bool operator<(const Offer& other) const {  // the best is the largest, as heaps of the library want it
      return std::tie(change, task, target) > std::tie(other.change, other.task, other.target);
    }
  };
  static constexpr int64_t kTargetsTried = 8, kPartnersTried = 8, kNeighboursTried = 64;
  static constexpr int32_t kBeside = 3;

  bool may_leave(int32_t u, int32_t q) const {
    return !state_.displaced(u, q) || state_.displaced(u, state_.pe[u]) ||
           state_.counter[kDisplaced] < settings_.most_displaced;
  }

  // Finds the best move of a task; with `full` also to PEs without room if that is better by itself.
  bool offer(int32_t u, bool full, Offer& best) {
    const int32_t p = state_.pe[u];
    if (state_.outer[u] == 0 && !state_.displaced(u, p)) return false;
    state_.gather(u, near_);
    candidates_ = near_;
    if (static_cast<int64_t>(candidates_.size()) > kTargetsTried) {
      const auto heavier = [&](int32_t a, int32_t b) {
        return state_.weight_to[a] != state_.weight_to[b] ? state_.weight_to[a] > state_.weight_to[b] : a < b;
      };
      std::partial_sort(candidates_.begin(), candidates_.begin() + kTargetsTried, candidates_.end(), heavier);
      candidates_.resize(kTargetsTried);
    }
    if (settings_.keep_one == 0) add_pes_beside();
    if (state_.displaced(u, p)) candidates_.push_back(state_.home[u]);
    const int64_t here = state_.cost_on(u, p, near_);
    bool found = false;
    const bool stays = settings_.keep_one != 0 && state_.held[p] == 1;  // unless another one comes for it
    for (const int32_t q : candidates_) {
      if (q == p || !state_.usable[q] || !may_leave(u, q)) continue;
      const bool lacks_room = state_.room(q) < state_.load[u];
      if (lacks_room ? !full : stays) continue;
      const int64_t change = state_.cost_on(u, q, near_) - here;
      if (lacks_room && change >= 0) continue;
      const bool better =
          !found || change < best.change ||
          (change == best.change && (state_.room(q) > state_.room(best.target) ||
                                     (state_.room(q) == state_.room(best.target) && q < best.target)));
      if (better) best = {change, u, q, lacks_room}, found = true;
    }
    state_.count_work(static_cast<int64_t>(candidates_.size()));
    state_.forget(near_);
    return found;
  }

  // With one task per PE, the PE of a neighbour is taken by that neighbour: PEs with near numbers, which are
  // near in machine order, are worth an exchange.
  void add_pes_beside() {
    const size_t given = candidates_.size();
    for (size_t i = 0; i < given; ++i)
      for (int32_t q = candidates_[i] - kBeside; q <= candidates_[i] + kBeside; ++q)
        if (q >= 0 && q < state_.k() && q != candidates_[i]) candidates_.push_back(q);
    sort_and_deduplicate(candidates_);
  }

  bool locked(int32_t u) const { return state_.mark[u] == stamp_; }

  // Returns the task of `q` that changes the cost least if u and it exchange their PEs; -1 if none fits.
  int32_t partner(int32_t u, int32_t q, int64_t& change) {
    const int32_t p = state_.pe[u];
    const int64_t own = state_.load[u];
    int32_t best = -1;
    const auto consider = [&](int32_t v, int64_t between) {
      if (v == u || locked(v) || state_.pe[v] != q || !may_leave(v, p)) return;
      if (state_.room(q) + state_.load[v] < own || state_.room(p) + own < state_.load[v]) return;
      state_.gather(v, near_);
      const int64_t d =
          state_.cost_on(v, p, near_) - state_.cost_on(v, q, near_) + 2 * between * state_.distance(p, q);
      state_.forget(near_);
      if (best < 0 || d < change || (d == change && v < best)) best = v, change = d;
    };
    std::vector<std::pair<int32_t, int64_t>> beside;
    state_.neighbours(u, [&](int32_t v, int64_t w) {
      if (state_.pe[v] == q && static_cast<int64_t>(beside.size()) < kPartnersTried) beside.push_back({v, w});
    });
    for (const auto& [v, w] : beside) consider(v, w);
    int64_t tried = 0;
    for (const bool at_border : {true, false})
      for (int32_t v = state_.first_task(q, at_border); v >= 0 && tried < kPartnersTried;
           v = state_.next[v], ++tried) {
        bool known = false;
        for (const auto& [t, w] : beside) known |= t == v;
        if (!known && state_.rows.find(u, v) < 0) consider(v, 0);
      }
    return best;
  }

  void apply(int32_t u, int32_t q) {
    log_.push_back({u, state_.pe[u]});
    state_.move(u, q);
    state_.mark[u] = stamp_;
  }

  void offer_neighbours(int32_t u) {
    int64_t left = kNeighboursTried;
    state_.neighbours(u, [&](int32_t v, int64_t) {
      if (left > 0 && state_.pe[v] >= 0 && !locked(v)) push(v, true), --left;
    });
  }
  void push(int32_t u, bool full) {
    Offer best;
    if (offer(u, full, best)) heap_.push(best);
  }

  void search(const std::vector<int32_t>& seeds, std::vector<int32_t>& again) {
    stamp_ = ++state_.counter[kStamp];
    heap_ = {};
    log_.clear();
    for (const int32_t u : seeds) push(u, true);
    int64_t total = 0, best = 0, fruitless = 0;
    size_t kept = 0;
    while (!heap_.empty() && fruitless < settings_.fruitless) {
      const Offer top = heap_.top();
      heap_.pop();
      Offer fresh;
      if (locked(top.task) || !offer(top.task, top.full, fresh)) continue;
      if (fresh.change != top.change || fresh.target != top.target || fresh.full != top.full) {
        heap_.push(fresh);  // what was known when it was offered no longer holds
        continue;
      }
      const int32_t u = fresh.task, from = state_.pe[u];
      if (fresh.full) {
        int64_t back = 0;
        const int32_t v = partner(u, fresh.target, back);
        if (v < 0 || fresh.change + back >= 0 || !both_may_leave(u, fresh.target, v, from)) {
          push(u, false);
          continue;
        }
        apply(u, fresh.target), apply(v, from);
        total += fresh.change + back;
        offer_neighbours(v);
      } else {
        apply(u, fresh.target);
        total += fresh.change;
      }
      offer_neighbours(u);
      if (total < best) best = total, kept = log_.size(), fruitless = 0;
      else ++fruitless;
    }
    while (log_.size() > kept) {
      state_.move(log_.back().first, log_.back().second);
      log_.pop_back();
    }
    for (const auto& [u, from] : log_) {
      again.push_back(u);
      state_.neighbours(u, [&](int32_t v, int64_t) { again.push_back(v); });
    }
  }
  bool both_may_leave(int32_t u, int32_t q, int32_t v, int32_t p) const {
    const int more = (state_.displaced(u, q) && !state_.displaced(u, p)) +
                     (state_.displaced(v, p) && !state_.displaced(v, q));
    return more == 0 || state_.counter[kDisplaced] + more <= settings_.most_displaced;
  }

  Placement& state_;
  const LocalSettings settings_;
  int64_t stamp_ = 0;
  std::vector<int32_t> near_, candidates_;
  std::vector<std::pair<int32_t, int32_t>> log_;
  std::priority_queue<Offer> heap_;
};

}  // namespace hopbytes
