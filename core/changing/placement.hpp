// A mapping of a changing graph: what follows from it (J, loads, boundaries) is kept up to date under moves.
#pragma once
#include <unordered_map>

#include "changing/arc_rows.hpp"
#include "graph/any_distance.hpp"

namespace hopbytes {

// Entries of `counter`. kShift is added to the rooms that the trees hold.
enum PlacementCounter : int { kCost, kShift, kStamp, kWork, kDisplaced, kPlacementCounters };

// Arrays of the caller. pe and home: -1 for a task that is absent or has no PE (yet); outside updates both
// are equal. Tasks of a PE are in two chained lists, `first[2p]` without and `first[2p+1]` with neighbours on
// other PEs. most and least: tournament trees over PEs, with the PEs from half of their size on.
struct PlacementArrays {
  Out<int32_t> pe, home;
  Out<int64_t> load;
  Out<int32_t> next, previous, outer;
  Out<int64_t> mark;
  Out<int32_t> first;
  Out<int64_t> held, pe_load, most, least, weight_to, cap;
  Out<uint8_t> usable;
  Out<int64_t> counter;
};

class Placement : public PlacementArrays {
 public:
  static constexpr int64_t kNoRoom = -(int64_t{1} << 62);

  Placement(const ArcRows& rows, const PlacementArrays& state, const AnyDistance& distance)
      : PlacementArrays(state), rows(rows), distance(distance), leaves_(std::ssize(most) / 2) {}

  const ArcRows rows;
  const AnyDistance distance;
  int64_t price = 0;
  std::vector<int32_t> moved;  // tasks that got another PE, some more than once
  std::unordered_map<int32_t, int64_t> load_before;  // load of each PE before the first change of it

  int64_t k() const { return static_cast<int64_t>(held.size()); }
  int64_t room(int64_t p) const { return most[leaves_ + p] + counter[kShift]; }
  bool any_overloaded() const { return least[1] + counter[kShift] < 0; }
  bool overloaded(int64_t p) const { return least[leaves_ + p] + counter[kShift] < 0; }
  void count_work(int64_t arcs) const { counter[kWork] += arcs; }

  // Returns the first overloaded PE; there must be one.
  int64_t first_overloaded() const {
    int64_t i = 1;
    while (i < leaves_) i = least[2 * i] + counter[kShift] < 0 ? 2 * i : 2 * i + 1;
    return i - leaves_;
  }

  // Returns the nearest PE to p among the roomiest of each part of the tree that have room for w, -1: none.
  int64_t nearest_room(int32_t p, int64_t w) const {
    // Walking up from p's leaf, the first subtree that has room holds PEs with near numbers.
    int64_t i = leaves_ + p;
    while (i > 1 && most[i] + counter[kShift] < w) i /= 2;
    return most[i] + counter[kShift] < w ? -1 : roomiest(i);
  }
  // Returns the PE with most room below a node of the tree.
  int32_t roomiest(int64_t i = 1) const {
    while (i < leaves_) i = most[2 * i] >= most[2 * i + 1] ? 2 * i : 2 * i + 1;
    return static_cast<int32_t>(i - leaves_);
  }

  // Recomputes what the trees say about a PE, and about all.
  void refresh(int64_t p) const {
    set_leaf(p);
    for (int64_t i = (leaves_ + p) / 2; i > 0; i /= 2) combine(i);
  }
  void refresh_all() const {
    for (int64_t p = 0; p < k(); ++p) set_leaf(p);
    for (int64_t i = leaves_ - 1; i > 0; --i) combine(i);
    count_work(k());
  }

  // The first task of a PE, with or without neighbours on other PEs; -1 if there is none.
  int32_t first_task(int32_t p, bool at_border) const { return first[2 * p + at_border]; }

  template <class Visit> void neighbours(int32_t u, Visit visit) const {
    const int64_t begin = rows.start[u], end = begin + rows.count[u];
    count_work(end - begin + 1);
    for (int64_t a = begin; a < end; ++a) visit(rows.target[a], rows.weight[a]);
  }

  bool displaced(int32_t u, int32_t p) const { return home[u] >= 0 && p >= 0 && p != home[u]; }

  // Takes a task from its PE; its arcs then cost nothing.
  void take(int32_t u) {
    const int32_t p = pe[u];
    neighbours(u, [&](int32_t v, int64_t w) {
      const int32_t r = pe[v];
      if (r < 0) return;
      counter[kCost] -= w * distance(p, r);
      if (r != p) change_outer(v, -1);
    });
    counter[kDisplaced] -= displaced(u, p);
    unlink(u);
    outer[u] = 0;
    pe[u] = -1;
    change_load(p, -load[u]);
    --held[p];
    refresh(p);
  }

  // Gives a task that has no PE one.
  void put(int32_t u, int32_t q) {
    HOPBYTES_CHECK(pe[u] < 0 && q >= 0 && q < k());
    int32_t elsewhere = 0;
    neighbours(u, [&](int32_t v, int64_t w) {
      const int32_t r = pe[v];
      if (r < 0) return;
      counter[kCost] += w * distance(q, r);
      if (r != q) ++elsewhere, change_outer(v, 1);
    });
    outer[u] = elsewhere;
    pe[u] = q;
    link(u);
    change_load(q, load[u]);
    ++held[q];
    counter[kDisplaced] += displaced(u, q);
    refresh(q);
    moved.push_back(u);
  }

  void move(int32_t u, int32_t q) { take(u), put(u, q); }

  // Accounts for an arc pair whose weight changed from `old` to `now` while its tasks stayed.
  void changed_pair(int32_t u, int32_t v, int64_t old, int64_t now) {
    const int32_t p = pe[u], q = pe[v];
    if (p < 0 || q < 0) return;
    counter[kCost] += (now - old) * distance(p, q);
    const int difference = (now > 0) - (old > 0);
    if (p != q && difference != 0) change_outer(u, difference), change_outer(v, difference);
  }

  void set_load(int32_t u, int64_t now) {
    const int64_t difference = now - load[u];
    load[u] = now;
    if (pe[u] < 0) return;
    change_load(pe[u], difference);
    refresh(pe[u]);
  }

  // Collects the weight between u and every PE in `near`; `forget` has to follow.
  void gather(int32_t u, std::vector<int32_t>& near) const {
    near.clear();
    neighbours(u, [&](int32_t v, int64_t w) {
      const int32_t r = pe[v];
      if (r < 0) return;
      if (weight_to[r] == 0) near.push_back(r);
      weight_to[r] += w;
    });
  }
  void forget(const std::vector<int32_t>& near) const {
    for (const int32_t r : near) weight_to[r] = 0;
  }

  // What the gathered task costs on PE q, with the price of migration.
  int64_t cost_on(int32_t u, int32_t q, const std::vector<int32_t>& near) const {
    return (displaced(u, q) ? price : 0) + distance.weighted_sum(q, near, weight_to.data());
  }

 private:
  void set_leaf(int64_t p) const {
    most[leaves_ + p] = usable[p] ? cap[p] - pe_load[p] : kNoRoom;
    least[leaves_ + p] = usable[p] && held[p] > 1 ? most[leaves_ + p] : -kNoRoom;
  }
  void combine(int64_t i) const {
    most[i] = std::max(most[2 * i], most[2 * i + 1]);
    least[i] = std::min(least[2 * i], least[2 * i + 1]);
  }
  void change_load(int32_t p, int64_t difference) {
    load_before.try_emplace(p, pe_load[p]);
    pe_load[p] += difference;
  }
  int32_t& head(int32_t u) const { return first[2 * pe[u] + (outer[u] > 0)]; }
  void link(int32_t u) const {
    int32_t& list = head(u);
    next[u] = list, previous[u] = -1;
    if (list >= 0) previous[list] = u;
    list = u;
  }
  void unlink(int32_t u) const {
    if (previous[u] >= 0) next[previous[u]] = next[u];
    else head(u) = next[u];
    if (next[u] >= 0) previous[next[u]] = previous[u];
  }
  void change_outer(int32_t v, int difference) const {
    const bool changes_list = (outer[v] > 0) != (outer[v] + difference > 0);
    if (changes_list) unlink(v);
    outer[v] += difference;
    if (changes_list) link(v);
  }

  int64_t leaves_;
};

}  // namespace hopbytes
