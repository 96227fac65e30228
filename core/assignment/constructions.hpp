// Greedy constructions that place one task after the other (Müller-Merbach 1970; GreedyAllC of Glantz,
// Meyerhenke and Noe 2015). On tree machines a binary tree answers which PE is best, which avoids a scan over
// all PEs.
#pragma once
#include <compare>
#include <queue>

#include "graph/csr.hpp"
#include "graph/distance.hpp"
#include "util/control.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

constexpr int64_t no_place = INT64_MAX;

// A PE: the cost of the task there, and the distance to all placed tasks. The order is cost, distance,
// number.
struct PeChoice {
  int64_t cost = no_place, far = no_place;
  int32_t pe = -1;
  auto operator<=>(const PeChoice&) const = default;
};

// The PEs of a tree machine that still have room. The labels define a binary tree whose nodes are the ranges
// of PEs that agree in the upper bits. Every node stores how many tasks are placed in it and which of its
// free PEs is nearest to those tasks. Placing a task changes the nodes of one path, so a step costs O(bits of
// a label).
class TreeRoom {
 public:
  TreeRoom(const TreeDistance& distance, In<int64_t> room)
      : k_(static_cast<int64_t>(room.size())), distance_(distance) {
    nodes_.resize(2 * k_ - 1);
    left_.assign(room.begin(), room.end());
    weight_.assign(nodes_.size(), 0);
    std::vector<int32_t> spine{0};  // the rightmost path, from the root downwards
    int32_t next = static_cast<int32_t>(k_);
    for (int32_t p = 1; p < k_; ++p) {
      const int64_t width = std::bit_width(distance.label[p - 1] ^ distance.label[p]);
      int32_t below = -1;
      while (!spine.empty() && nodes_[spine.back()].width < width) below = spine.back(), spine.pop_back();
      const int32_t joint = next++;
      nodes_[joint] = {.low = below, .high = p, .width = width, .cost = distance.bit_cost[width]};
      if (!spine.empty()) nodes_[spine.back()].high = joint;
      spine.push_back(joint);
      spine.push_back(p);
    }
    root_ = spine.front();
    finish(root_);
  }

  // Returns the free PE with the smallest total distance to all PEs.
  int32_t central(const Control&) const {
    PeChoice best;
    find_central(root_, 0, best);
    return best.pe;
  }

  // Returns the free PE with the smallest total distance to all tasks placed so far.
  int32_t closest() const { return nodes_[root_].pe; }
  static constexpr bool kQuickSteps = true;

  void take(int32_t p) {
    --left_[p];
    for (int32_t node = p; node >= 0; node = nodes_[node].up) {
      ++nodes_[node].held;
      update(node);
    }
  }

  // Returns the free PE that is cheapest for a task with these partners (PE and weight of each).
  int32_t cheapest(const std::vector<std::pair<int32_t, int64_t>>& partners) {
    touched_.clear();
    for (const auto& [p, weight] : partners)
      for (int32_t node = p; node >= 0; node = nodes_[node].up) {
        if (!weight_[node]) touched_.push_back(node);
        weight_[node] += weight;
      }
    PeChoice best;
    find_cheapest(root_, 0, 0, best);
    for (int32_t node : touched_) weight_[node] = 0;
    return best.pe;
  }

 private:
  struct Node {
    int32_t low = -1, high = -1, up = -1;
    int64_t width = 0;
    int64_t cost = 0;  // distance between the two halves
    int64_t held = 0;  // tasks placed in this range
    int64_t size = 1;  // number of PEs
    int64_t far = no_place;  // distance of the nearest free PE to the tasks placed in this range
    int32_t pe = -1;  // that PE, -1 if no PE is free
  };

  void update(int32_t at) {
    Node& node = nodes_[at];
    if (node.low < 0) {
      node.pe = left_[at] > 0 ? at : -1;
      node.far = 0;
      return;
    }
    const Node &low = nodes_[node.low], &high = nodes_[node.high];
    const int64_t from_low = low.pe < 0 ? no_place : low.far + node.cost * high.held;
    const int64_t from_high = high.pe < 0 ? no_place : high.far + node.cost * low.held;
    node.far = std::min(from_low, from_high);
    node.pe = from_low <= from_high ? low.pe : high.pe;
  }

  void finish(int32_t at) {
    Node& node = nodes_[at];
    if (node.low >= 0) {
      for (const int32_t half : {node.low, node.high}) {
        nodes_[half].up = at;
        finish(half);
      }
      node.size = nodes_[node.low].size + nodes_[node.high].size;
    }
    update(at);
  }

  void find_central(int32_t at, int64_t far, PeChoice& best) const {
    const Node& node = nodes_[at];
    if (node.pe < 0) return;
    if (node.low < 0) {
      best = std::min(best, PeChoice{0, far, at});
      return;
    }
    find_central(node.low, far + node.cost * nodes_[node.high].size, best);
    find_central(node.high, far + node.cost * nodes_[node.low].size, best);
  }

  // `cost` and `far` come from outside this node. If no partner is inside it, all its PEs cost the same.
  void find_cheapest(int32_t at, int64_t cost, int64_t far, PeChoice& best) const {
    const Node& node = nodes_[at];
    if (node.pe < 0 || cost > best.cost) return;
    if (node.low < 0 || !weight_[at]) {
      best = std::min(best, PeChoice{cost, far + node.far, node.pe});
      return;
    }
    const auto visit = [&](int32_t half, int32_t other) {
      find_cheapest(half, cost + node.cost * weight_[other], far + node.cost * nodes_[other].held, best);
    };
    const bool high_first = weight_[node.high] > weight_[node.low];
    visit(high_first ? node.high : node.low, high_first ? node.low : node.high);
    visit(high_first ? node.low : node.high, high_first ? node.high : node.low);
  }

  int64_t k_;
  const TreeDistance distance_;
  std::vector<Node> nodes_;  // The first k nodes are the PEs.
  std::vector<int64_t> left_, weight_;
  std::vector<int32_t> touched_;
  int32_t root_ = 0;
};

// Answers the same questions for any distance by scanning all PEs: O(k) per step, O(k x partners) for the
// cheapest PE, O(k^2) for the most central one unless the control asks to stop.
template <class Distance> class ScannedRoom {
 public:
  ScannedRoom(const Distance& distance, In<int64_t> room)
      : k_(static_cast<int64_t>(room.size())),
        distance_(distance),
        left_(room.begin(), room.end()),
        far_(room.size(), 0) {}

  int32_t central(const Control& control) const {
    return pick([&](int32_t p) {
      int64_t far = 0;
      if (control.should_stop()) return PeChoice{0, no_place, p};
      for (int64_t q = 0; q < k_; ++q) far += distance_(p, static_cast<int32_t>(q));
      return PeChoice{0, far, p};
    });
  }
  int32_t closest() const {
    return pick([&](int32_t p) { return PeChoice{0, far_[p], p}; });
  }
  static constexpr bool kQuickSteps = false;
  void take(int32_t p) {
    --left_[p];
    for (int64_t q = 0; q < k_; ++q) far_[q] += distance_(static_cast<int32_t>(q), p);
  }
  int32_t cheapest(const std::vector<std::pair<int32_t, int64_t>>& partners) const {
    return pick([&](int32_t p) {
      int64_t cost = 0;
      for (const auto& [other, weight] : partners) cost += weight * distance_(p, other);
      return PeChoice{cost, far_[p], p};
    });
  }

 private:
  template <class Evaluate> int32_t pick(Evaluate evaluate) const {
    PeChoice best;
    for (int32_t p = 0; p < k_; ++p)
      if (left_[p] > 0) best = std::min(best, evaluate(p));
    return best.pe;
  }

  int64_t k_;
  const Distance distance_;
  std::vector<int64_t> left_, far_;
};

// Places the task with the largest volume first, on the most central PE, then always the one with the
// largest volume to placed tasks: on the free PE nearest to all placed tasks, or with `linked` the cheapest
// for this task. Ties go to the smaller number. When it should stop, the remaining tasks are placed in their
// order: on the nearest PEs where a step takes a logarithm of k, otherwise on the free PEs in their order.
template <class W, class D>
void place_greedily(const Graph<W>& g, const D& distance, In<int64_t> room, bool linked,
                    const Control& control, Out<int32_t> pe) {
  using Room = std::conditional_t<std::is_same_v<D, TreeDistance>, TreeRoom, ScannedRoom<D>>;
  Room places(distance, room);
  std::fill(pe.begin(), pe.end(), -1);
  std::vector<int64_t> volume_to_placed(g.n, 0);  // volume to tasks already placed
  using Entry = std::pair<int64_t, int32_t>;  // the largest volume first, then the smallest number
  std::priority_queue<Entry> next;
  int64_t most = -1;
  int32_t first = 0;
  for (int32_t v = 0; v < g.n; ++v) {
    int64_t volume = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) volume += g.weight[e];
    if (volume > most) most = volume, first = v;
    next.emplace(0, -v);
  }
  std::vector<std::pair<int32_t, int64_t>> partners;
  auto put = [&](int32_t t, int32_t p) {
    pe[t] = p;
    places.take(p);
    for (int64_t e = g.start[t]; e < g.start[t + 1]; ++e)
      if (const int32_t w = g.adj[e]; pe[w] < 0) next.emplace(volume_to_placed[w] += g.weight[e], -w);
  };
  if (g.n > 0) put(first, places.central(control));
  while (!next.empty() && !control.should_stop()) {
    const int32_t t = -next.top().second;
    next.pop();
    if (pe[t] >= 0) continue;
    if (!linked) {
      put(t, places.closest());
    } else {
      partners.clear();
      for (int64_t e = g.start[t]; e < g.start[t + 1]; ++e)
        if (const int32_t w = g.adj[e]; pe[w] >= 0) partners.emplace_back(pe[w], g.weight[e]);
      put(t, places.cheapest(partners));
    }
  }
  if constexpr (Room::kQuickSteps) {
    for (int32_t t = 0; t < g.n; ++t)
      if (pe[t] < 0) put(t, places.closest());
  } else {
    std::vector<int64_t> left(room.begin(), room.end());
    for (const int32_t p : pe)
      if (p >= 0) --left[p];
    int32_t p = 0;
    for (int32_t t = 0; t < g.n; ++t) {
      if (pe[t] >= 0) continue;
      while (left[p] <= 0) ++p;
      --left[p];
      pe[t] = p;
    }
  }
}

}  // namespace hopbytes
