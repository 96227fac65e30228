// Brings a mapping up to date after a batch of changes of its graph, its loads and its PEs.
#pragma once
#include "changing/local_search.hpp"
#include "changing/rebalance_chains.hpp"

namespace hopbytes {

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
      : x(rows, state, distance), settings_(settings) {
    x.price = settings.price;
  }

  // Returns whether all PEs comply; `forced` becomes the number of tasks whose moves had no alternative.
  bool run(const Changes& changes, int64_t& forced) {
    cost_before_ = x.s.counter[kCost];
    x.s.counter[kDisplaced] = 0;
    std::vector<int32_t> touched = take_over(changes);
    place_all();
    for (size_t i = 0; i < changes.sent.size(); ++i) x.move(changes.sent[i], changes.sent_to[i]);
    RebalanceChains(x).run();
    forced = x.s.counter[kDisplaced];
    touched.insert(touched.end(), x.moved.begin(), x.moved.end());
    LocalSearch(x, settings_).improve(std::move(touched));
    std::sort(x.moved.begin(), x.moved.end());
    x.moved.erase(std::unique(x.moved.begin(), x.moved.end()), x.moved.end());
    return !x.any_overloaded();
  }

  // Whether J and loads before, and what changed, give J and loads after: a second way that does not follow
  // the single moves.
  bool agrees(const Changes& changes) { return loads_agree(changes) && cost_agrees(changes); }

  // Tasks that have another PE than before, ascending, with the PE before; -1 for a task that arrived.
  void report(std::vector<int32_t>& tasks, std::vector<int32_t>& from) {
    for (const int32_t u : x.moved) {
      if (x.s.pe[u] == x.s.home[u]) continue;
      tasks.push_back(u), from.push_back(x.s.home[u]);
    }
  }
  void settle(const Changes& changes) {
    for (const int32_t u : changes.vanished) x.s.home[u] = x.s.pe[u];
    for (const int32_t u : x.moved) x.s.home[u] = x.s.pe[u];
  }

 private:
  bool loads_agree(const Changes& changes) const {
    std::unordered_map<int32_t, int64_t> expected = x.load_before;
    const auto add = [&](int32_t p, int64_t load) {
      if (p >= 0) expected[p] += load;
    };
    for (const auto& [u, load] : own_load_before_) add(x.s.home[u], -load), add(x.s.pe[u], x.s.load[u]);
    for (const int32_t u : x.moved) {
      if (own_load_before_.contains(u)) continue;
      add(x.s.home[u], -x.s.load[u]), add(x.s.pe[u], x.s.load[u]);
    }
    for (const int32_t u : changes.vanished)
      if (x.s.pe[u] >= 0) return false;
    return std::all_of(expected.begin(), expected.end(),
                       [&](const auto& each) { return x.s.pe_load[each.first] == each.second; });
  }

  bool cost_agrees(const Changes& changes) {
    const int64_t stamp = ++x.s.counter[kStamp];
    for (const int32_t u : x.moved) x.s.mark[u] = stamp;
    int64_t cost = cost_before_;
    for (size_t i = 0; i < changes.u.size(); ++i) {
      const int32_t p = x.s.home[changes.u[i]], q = x.s.home[changes.v[i]];
      if (p >= 0 && q >= 0) cost += (changes.now[i] - changes.old[i]) * x.distance(p, q);
    }
    for (const int32_t u : x.moved)
      x.neighbours(u, [&](int32_t v, int64_t w) {
        if (x.s.mark[v] == stamp && v < u) return;
        const int32_t p = x.s.home[u], q = x.s.home[v];
        if (p >= 0 && q >= 0) cost -= w * x.distance(p, q);
        cost += w * x.distance(x.s.pe[u], x.s.pe[v]);
      });
    return cost == x.s.counter[kCost];
  }

  // Applies the changes; returns the tasks that they touch.
  std::vector<int32_t> take_over(const Changes& changes) {
    std::vector<int32_t> touched;
    for (size_t i = 0; i < changes.u.size(); ++i) {
      x.changed_pair(changes.u[i], changes.v[i], changes.old[i], changes.now[i]);
      touched.push_back(changes.u[i]), touched.push_back(changes.v[i]);
    }
    for (const int32_t u : changes.vanished) own_load_before_.try_emplace(u, x.s.load[u]);
    for (const int32_t u : changes.loaded) own_load_before_.try_emplace(u, x.s.load[u]);
    for (const int32_t u : changes.vanished) x.take(u), x.s.load[u] = 0;
    for (size_t i = 0; i < changes.loaded.size(); ++i) {
      x.set_load(changes.loaded[i], changes.load[i]);
      touched.push_back(changes.loaded[i]);
    }
    waiting_.assign(changes.arrived.begin(), changes.arrived.end());
    for (const int32_t p : changes.restored) x.s.usable[p] = 1, x.refresh(p);
    for (const int32_t p : changes.lost) {
      x.s.usable[p] = 0;
      for (int list = 0; list < 2; ++list)
        while (x.s.first[2 * p + list] >= 0) {
          const int32_t u = x.s.first[2 * p + list];
          x.take(u);
          waiting_.push_back(u);
        }
      x.refresh(p);
    }
    if (changes.caps_changed) x.refresh_all();
    return touched;
  }

  // Gives tasks without PE one, those first that exchange most with tasks that have one.
  void place_all() {
    std::priority_queue<std::pair<int64_t, int32_t>> queue;
    const auto offer = [&](int32_t u) {
      int64_t weight = 0;
      x.neighbours(u, [&](int32_t v, int64_t w) { weight += x.s.pe[v] >= 0 ? w : 0; });
      queue.push({weight, -u});
    };
    for (const int32_t u : waiting_) offer(u);
    std::vector<int32_t> beside;
    while (!queue.empty()) {
      const int32_t u = -queue.top().second;
      queue.pop();
      if (x.s.pe[u] >= 0) continue;
      x.put(u, chosen_pe(u));
      beside.clear();
      x.neighbours(u, [&](int32_t v, int64_t) {
        if (x.s.pe[v] < 0) beside.push_back(v);
      });
      for (const int32_t v : beside) offer(v);
    }
  }

  // Returns the best PE beside the neighbours of a task, even if that is full: chains of moves to PEs with
  // room cost less than a task that is far from its neighbours.
  int32_t chosen_pe(int32_t u) {
    std::vector<int32_t> near;
    x.gather(u, near);
    int32_t best = -1;
    int64_t least = 0;
    const auto consider = [&](int32_t q) {
      if (!x.s.usable[q]) return;
      const int64_t cost = x.cost_on(u, q, near);
      const bool roomier = best >= 0 && cost == least && x.room(q) > x.room(best);
      if (best < 0 || cost < least || roomier) best = q, least = cost;
    };
    for (const int32_t q : near) consider(q);
    if (best < 0) {
      const auto q = static_cast<int32_t>(x.nearest_room(std::max(x.s.home[u], 0), x.s.load[u]));
      best = q >= 0 ? q : x.roomiest();
    }
    x.count_work(static_cast<int64_t>(near.size()));
    x.forget(near);
    return best;
  }

  Placement x;
  const LocalSettings settings_;
  std::vector<int32_t> waiting_;
  int64_t cost_before_ = 0;
  std::unordered_map<int32_t, int64_t> own_load_before_;  // of tasks whose loads change
};

}  // namespace hopbytes
