// Moves vertices out of overloaded blocks.
#pragma once
#include <queue>

#include "partition_state.hpp"
#include "vertex_heap.hpp"

namespace hopbytes {

template <class W, class D> class Rebalancer {
 public:
  // `heap` must be empty. The vertices that move are appended to `moved`.
  Rebalancer(PartitionState<W, D>& state, VertexHeap& heap, std::vector<int32_t>& moved)
      : state_(state), g_(state.graph()), heap_(heap), moved_(moved) {}

  // Moves vertices out of overloaded blocks at the least loss per load until no block is overloaded or no
  // move fits. It overloads no other block.
  void run() {
    // Collects the vertices of all overloaded blocks in one pass and keeps the other blocks in a heap by
    // their room, so that neither the vertices nor the blocks are scanned repeatedly.
    const auto k = static_cast<int32_t>(state_.k());
    std::vector<std::vector<int32_t>> members(k);
    for (int32_t v = 0; v < g_.n; ++v)
      if (state_.overloaded(state_.block(v)) && g_.load[v] > 0) members[state_.block(v)].push_back(v);
    for (int32_t b = 0; b < k; ++b)
      if (!state_.overloaded(b)) rooms_.push({state_.room(b), b});
    for (int32_t b = 0; b < k; ++b) {
      if (!state_.overloaded(b)) continue;
      drain(b, members[b]);
      if (!state_.overloaded(b)) rooms_.push({state_.room(b), b});
    }
  }

 private:
  using Choice = typename PartitionState<W, D>::Choice;
  struct Room {
    int64_t room;
    int32_t block;
    bool operator<(const Room& other) const {
      return room != other.room ? room < other.room : block > other.block;
    }
  };

  void drain(int32_t block, const std::vector<int32_t>& members) {
    for (int32_t v : members)
      if (const Choice choice = choose(v); choice.block >= 0)
        heap_.push(v, per_load(choice.gain, g_.load[v]));
    while (!heap_.empty() && state_.overloaded(block)) {
      const int32_t v = heap_.top();
      const int64_t key = heap_.top_key();
      const Choice choice = choose(v);
      if (choice.block < 0) {
        heap_.pop();
        continue;
      }
      const int64_t now = per_load(choice.gain, g_.load[v]);
      if (now < key) {
        heap_.change(v, now);
        continue;
      }
      heap_.pop();
      state_.move(v, choice.block);
      moved_.push_back(v);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t u = g_.adj[e];
        // A hub is re-evaluated only when it comes to the top of the heap: evaluating it costs O(degree), too
        // much for every neighbour that leaves.
        if (!heap_.contains(u) || g_.degree(u) > kHubDegree) continue;
        const Choice again = choose(u);
        if (again.block >= 0) heap_.change(u, per_load(again.gain, g_.load[u]));
      }
    }
    heap_.clear();
  }

  static int64_t per_load(int64_t gain, int64_t load) {
    return gain < 0 ? gain / std::max<int64_t>(load, 1) : gain;
  }

  // Returns where v moves if it has to leave its block: the best adjacent block with room, else the block
  // with the most room.
  Choice choose(int32_t v) {
    Choice best = state_.choose(v, 0);
    if (best.block >= 0) return best;
    const int32_t emptiest = most_room();
    if (emptiest < 0 || g_.load[v] > state_.room(emptiest) || !state_.allows(v, emptiest)) return best;
    return {emptiest, state_.gain(v, emptiest)};
  }

  // Returns the block with the most room (of equal ones the first), -1 if all blocks are overloaded. While
  // blocks are drained, rooms only shrink; the block being drained is not in the heap.
  int32_t most_room() {
    while (!rooms_.empty()) {
      const Room top = rooms_.top();
      const int64_t room = state_.room(top.block);
      if (room == top.room) return top.block;
      rooms_.pop();
      rooms_.push({room, top.block});
    }
    return -1;
  }

  PartitionState<W, D>& state_;
  const WorkGraph<W>& g_;
  VertexHeap& heap_;
  std::vector<int32_t>& moved_;
  std::priority_queue<Room> rooms_;  // entries may be outdated, see most_room
};

}  // namespace hopbytes
