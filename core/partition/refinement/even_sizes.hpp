// Gives many blocks of unit loads their exact sizes, where they miss them by a few vertices, at little loss
// under the distances of the blocks.
//
// balance_exactly() finds the best chain of moves between any two of a few blocks. Among hundreds of blocks
// the nearest block with room is good enough, and only neighbouring blocks exchange vertices.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/graph.hpp"
#include "util/control.hpp"

namespace hopbytes {

template <class W> class EvenSizes {
 public:
  // Moves vertices along the cheapest chains from blocks above their sizes to blocks below. Loads must be 1
  // each, and the sizes must add up to n. Returns whether all blocks have their sizes then.
  bool refine(const Graph<W>& g, const AnyDistance& distance, std::vector<int32_t>& block,
              std::vector<int64_t>& load, std::span<const int64_t> size, const Control& control) {
    const auto k = static_cast<int32_t>(size.size());
    moves_.assign(k, {});
    stale_.assign(k, 1);
    while (!control.should_stop()) {
      std::vector<int32_t> above;
      for (int32_t b = 0; b < k; ++b)
        if (load[b] > size[b]) above.push_back(b);
      if (above.empty()) return true;
      control.record_work(distance.in_form([&](const auto& form) { return find_moves(g, form, block, k); }));
      used_.assign(k, 0);
      best_.assign(k, {INT64_MAX, 0});
      move_.assign(k, nullptr);
      reached_.clear();
      bool moved = false;
      for (const int32_t from : above) moved |= !used_[from] && follow_chain(g, from, block, load, size);
      if (!moved) return false;
    }
    return false;
  }

 private:
  struct Move {
    int32_t from, to;
    int64_t loss;
    int32_t vertex;
    auto key() const { return std::tuple(to, loss, vertex); }
  };

  // Lists the cheapest move from every block to each adjacent one. Only blocks are listed anew that have
  // changed since the last call, or have a vertex next to one that has moved. Returns the scanned edges.
  template <class D>
  int64_t find_moves(const Graph<W>& g, const D& distance, const std::vector<int32_t>& block, int32_t k) {
    int64_t scanned = 0;
    std::vector<int64_t> connection(k, 0);
    std::vector<int32_t> last(k, -1), near;  // the vertex counted last for each block; the block of v first
    const auto cost_in = [&](int32_t b) {
      int64_t cost = 0;
      for (const int32_t c : near) cost += connection[c] * distance(b, c);
      return cost;
    };
    for (int32_t b = 0; b < k; ++b)
      if (stale_[b]) moves_[b].clear();
    for (int32_t v = 0; v < g.n; ++v) {
      const int32_t own = block[v];
      if (!stale_[own]) continue;
      near.assign(1, own);
      connection[own] = 0, last[own] = v;
      scanned += 2 * g.degree(v);
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t b = block[g.adj[e]];
        if (last[b] != v) last[b] = v, connection[b] = 0, near.push_back(b);
        connection[b] += g.weight[e];
      }
      if (near.size() == 1) continue;
      const int64_t now = cost_in(own);
      for (size_t i = 1; i < near.size(); ++i)
        moves_[own].push_back({own, near[i], cost_in(near[i]) - now, v});
    }
    for (int32_t b = 0; b < k; ++b) {
      if (!stale_[b]) continue;
      auto& moves = moves_[b];
      std::sort(moves.begin(), moves.end(), [](const Move& x, const Move& y) { return x.key() < y.key(); });
      const auto same = [](const Move& x, const Move& y) { return x.to == y.to; };
      moves.erase(std::unique(moves.begin(), moves.end(), same), moves.end());
      stale_[b] = 0;
    }
    return scanned;
  }

  // Finds the cheapest chain from a block to one with room (Dijkstra; gains count as no loss), through blocks
  // that no chain since find_moves() has used, and makes its moves. Where there is none, the blocks that were
  // reached lead to no room for any other chain either, and count as used.
  bool follow_chain(const Graph<W>& g, int32_t from, std::vector<int32_t>& block, std::vector<int64_t>& load,
                    std::span<const int64_t> size) {
    using Reached = std::tuple<int64_t, int32_t, int32_t>;  // loss, number of moves, block
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
    for (const int32_t b : reached_) best_[b] = {INT64_MAX, 0}, move_[b] = nullptr;
    best_[from] = {0, 0};
    reached_.assign(1, from);
    queue.push({0, 0, from});
    while (!queue.empty()) {
      const auto [loss, length, a] = queue.top();
      queue.pop();
      if (best_[a] != std::pair(loss, length)) continue;
      if (load[a] < size[a]) {
        make_moves(g, from, a, block);
        --load[from], ++load[a];
        return true;
      }
      for (const Move& move : moves_[a]) {
        const int32_t b = move.to;
        const std::pair reached(loss + std::max<int64_t>(0, move.loss), length + 1);
        if (used_[b] || reached >= best_[b]) continue;
        if (best_[b].first == INT64_MAX) reached_.push_back(b);
        best_[b] = reached, move_[b] = &move;
        queue.push({reached.first, reached.second, b});
      }
    }
    for (const int32_t b : reached_) used_[b] = 1;
    return false;
  }

  void make_moves(const Graph<W>& g, int32_t from, int32_t to, std::vector<int32_t>& block) {
    used_[from] = 1;
    for (int32_t b = to; b != from; b = move_[b]->from) {
      const int32_t v = move_[b]->vertex;
      block[v] = b;
      used_[b] = stale_[b] = stale_[move_[b]->from] = 1;
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) stale_[block[g.adj[e]]] = 1;
    }
  }

  std::vector<std::vector<Move>> moves_;  // of every block, by the other block
  std::vector<uint8_t> stale_;  // whether the moves of a block may have changed
  std::vector<uint8_t> used_;
  std::vector<std::pair<int64_t, int32_t>> best_;  // loss and number of moves up to each block
  std::vector<const Move*> move_;  // the last move of the chain to each block
  std::vector<int32_t> reached_;  // the blocks of which `best_` and `move_` are set
};

}  // namespace hopbytes
