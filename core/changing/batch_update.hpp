// Brings a mapping up to date after a batch of changes of its graph, its loads and its PEs.
#pragma once
#include "changing/local_search.hpp"

namespace hopbytes {

// Ends the overload of PEs by the cheapest chains of moves to PEs with room.
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

  // Every step moves a task out of an overloaded PE; more steps than tasks are there mean a cycle.
  int64_t overload_limit() const {
    int64_t tasks = 0;
    for (int64_t p = 0; p < state_.k(); ++p)
      if (state_.overloaded(p)) tasks += state_.held[p];
    return 4 * tasks;
  }

  // Finds the cheapest chain: a task of p moves to another PE, one of that to a third, until there is room.
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

// What changed. The arcs themselves are changed before; `old` and `now` are the weights of pairs.
struct Changes {
  In<int32_t> u, v;
  In<int64_t> old, now;
  In<int32_t> vanished, loaded;
  In<int64_t> load;
  In<int32_t> arrived, lost, restored;
  In<int32_t> sent, sent_to;  // tasks that go to given PEs, because a search elsewhere found that
  bool caps_changed = false;
};

class BatchUpdate {
 public:
  BatchUpdate(const ArcRows& rows, const PlacementArrays& state, const AnyDistance& distance,
              const LocalSettings& settings)
      : state_(rows, state, distance), settings_(settings) {
    state_.price = settings.price;
  }

  // Returns whether all PEs comply; `forced` becomes the number of tasks whose moves had no alternative.
  bool run(const Changes& changes, int64_t& forced) {
    cost_before_ = state_.counter[kCost];
    state_.counter[kDisplaced] = 0;
    std::vector<int32_t> touched = take_over(changes);
    place_all();
    for (size_t i = 0; i < changes.sent.size(); ++i) state_.move(changes.sent[i], changes.sent_to[i]);
    RebalanceChains(state_).run();
    forced = state_.counter[kDisplaced];
    touched.insert(touched.end(), state_.moved.begin(), state_.moved.end());
    LocalSearch(state_, settings_).improve(std::move(touched));
    sort_and_deduplicate(state_.moved);
    return !state_.any_overloaded();
  }

  // Whether J and loads before, and what changed, give J and loads after: without following single moves.
  bool agrees(const Changes& changes) { return loads_agree(changes) && cost_agrees(changes); }

  // Tasks that have another PE than before, ascending, with the PE before; -1 for a task that arrived.
  void report(std::vector<int32_t>& tasks, std::vector<int32_t>& from) {
    for (const int32_t u : state_.moved) {
      if (state_.pe[u] == state_.home[u]) continue;
      tasks.push_back(u), from.push_back(state_.home[u]);
    }
  }
  void settle(const Changes& changes) {
    for (const int32_t u : changes.vanished) state_.home[u] = state_.pe[u];
    for (const int32_t u : state_.moved) state_.home[u] = state_.pe[u];
  }

 private:
  bool loads_agree(const Changes& changes) const {
    std::unordered_map<int32_t, int64_t> expected = state_.load_before;
    const auto add = [&](int32_t p, int64_t load) {
      if (p >= 0) expected[p] += load;
    };
    for (const auto& [u, load] : own_load_before_)
      add(state_.home[u], -load), add(state_.pe[u], state_.load[u]);
    for (const int32_t u : state_.moved) {
      if (own_load_before_.contains(u)) continue;
      add(state_.home[u], -state_.load[u]), add(state_.pe[u], state_.load[u]);
    }
    for (const int32_t u : changes.vanished)
      if (state_.pe[u] >= 0) return false;
    return std::all_of(expected.begin(), expected.end(),
                       [&](const auto& each) { return state_.pe_load[each.first] == each.second; });
  }

  bool cost_agrees(const Changes& changes) {
    const int64_t stamp = ++state_.counter[kStamp];
    for (const int32_t u : state_.moved) state_.mark[u] = stamp;
    int64_t cost = cost_before_;
    for (size_t i = 0; i < changes.u.size(); ++i) {
      const int32_t p = state_.home[changes.u[i]], q = state_.home[changes.v[i]];
      if (p >= 0 && q >= 0) cost += (changes.now[i] - changes.old[i]) * state_.distance(p, q);
    }
    for (const int32_t u : state_.moved)
      state_.neighbours(u, [&](int32_t v, int64_t w) {
        if (state_.mark[v] == stamp && v < u) return;
        const int32_t p = state_.home[u], q = state_.home[v];
        if (p >= 0 && q >= 0) cost -= w * state_.distance(p, q);
        cost += w * state_.distance(state_.pe[u], state_.pe[v]);
      });
    return cost == state_.counter[kCost];
  }

  // Applies the changes; returns the tasks that they touch.
  std::vector<int32_t> take_over(const Changes& changes) {
    std::vector<int32_t> touched;
    for (size_t i = 0; i < changes.u.size(); ++i) {
      state_.changed_pair(changes.u[i], changes.v[i], changes.old[i], changes.now[i]);
      touched.push_back(changes.u[i]), touched.push_back(changes.v[i]);
    }
    for (const int32_t u : changes.vanished) own_load_before_.try_emplace(u, state_.load[u]);
    for (const int32_t u : changes.loaded) own_load_before_.try_emplace(u, state_.load[u]);
    for (const int32_t u : changes.vanished) state_.take(u), state_.load[u] = 0;
    for (size_t i = 0; i < changes.loaded.size(); ++i) {
      state_.set_load(changes.loaded[i], changes.load[i]);
      touched.push_back(changes.loaded[i]);
    }
    waiting_.assign(changes.arrived.begin(), changes.arrived.end());
    for (const int32_t p : changes.restored) state_.usable[p] = 1, state_.refresh(p);
    for (const int32_t p : changes.lost) {
      state_.usable[p] = 0;
      for (const bool at_border : {false, true})
        while (state_.first_task(p, at_border) >= 0) {
          const int32_t u = state_.first_task(p, at_border);
          state_.take(u);
          waiting_.push_back(u);
        }
      state_.refresh(p);
    }
    if (changes.caps_changed) state_.refresh_all();
    return touched;
  }

  // Gives tasks without PE one, those first that exchange most with tasks that have one.
  void place_all() {
    std::priority_queue<std::pair<int64_t, int32_t>> queue;
    const auto offer = [&](int32_t u) {
      int64_t weight = 0;
      state_.neighbours(u, [&](int32_t v, int64_t w) { weight += state_.pe[v] >= 0 ? w : 0; });
      queue.push({weight, -u});
    };
    for (const int32_t u : waiting_) offer(u);
    while (!queue.empty()) {
      const int32_t u = -queue.top().second;
      queue.pop();
      if (state_.pe[u] >= 0) continue;
      state_.put(u, chosen_pe(u));
      state_.neighbours(u, [&](int32_t v, int64_t) {
        if (state_.pe[v] < 0) offer(v);
      });
    }
  }

  // Returns the best PE beside the neighbours of a task, even if that is full: chains of moves to PEs with
  // room cost less than a task that is far from its neighbours.
  int32_t chosen_pe(int32_t u) {
    std::vector<int32_t> near;
    state_.gather(u, near);
    int32_t best = -1;
    int64_t least = 0;
    const auto consider = [&](int32_t q) {
      if (!state_.usable[q]) return;
      const int64_t cost = state_.cost_on(u, q, near);
      const bool roomier = best >= 0 && cost == least && state_.room(q) > state_.room(best);
      if (best < 0 || cost < least || roomier) best = q, least = cost;
    };
    for (const int32_t q : near) consider(q);
    if (best < 0) {
      const auto q = static_cast<int32_t>(state_.nearest_room(std::max(state_.home[u], 0), state_.load[u]));
      best = q >= 0 ? q : state_.roomiest();
    }
    state_.count_work(static_cast<int64_t>(near.size()));
    state_.forget(near);
    return best;
  }

  Placement state_;
  const LocalSettings settings_;
  std::vector<int32_t> waiting_;
  int64_t cost_before_ = 0;
  std::unordered_map<int32_t, int64_t> own_load_before_;  // of tasks whose loads change
};

}  // namespace hopbytes
