#include "partition/refinement/even_sizes.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace hopbytes {

bool EvenSizes::refine(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
            std::vector<int64_t>& load, std::span<const int64_t> size, const Control& control) {
  const auto k = static_cast<int32_t>(size.size());
  while (!control.should_stop()) {
    std::vector<int32_t> above;
    for (int32_t b = 0; b < k; ++b)
      if (load[b] > size[b]) above.push_back(b);
    if (above.empty()) return true;
    find_moves(g, distance, block, k);
    control.record_work(2 * g.arcs());
    used_.assign(k, 0);
    bool moved = false;
    for (const int32_t from : above) moved |= !used_[from] && follow_chain(from, block, load, size);
    if (!moved) return false;
  }
  return false;
}

// Lists the cheapest move between every two adjacent blocks.
void EvenSizes::find_moves(const AnyGraph& g, const AnyDistance& distance, const std::vector<int32_t>& block,
                int32_t k) {
  moves_.clear();
  std::vector<int64_t> connection(k, 0);
  std::vector<int32_t> last(k, -1), near;  // the vertex counted last for each block; the block of v first
  const auto cost_in = [&](int32_t b) { return distance.weighted_sum(b, near, connection.data()); };
  for (int32_t v = 0; v < g.n; ++v) {
    const int32_t own = block[v];
    near.assign(1, own);
    connection[own] = 0, last[own] = v;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t b = block[g.adj[e]];
      if (last[b] != v) last[b] = v, connection[b] = 0, near.push_back(b);
      connection[b] += g.weight[e];
    }
    if (near.size() == 1) continue;
    const int64_t now = cost_in(own);
    for (size_t i = 1; i < near.size(); ++i) moves_.push_back({own, near[i], cost_in(near[i]) - now, v});
  }
  std::sort(moves_.begin(), moves_.end(), [](const Move& x, const Move& y) { return x.key() < y.key(); });
  const auto same = [](const Move& x, const Move& y) { return x.from == y.from && x.to == y.to; };
  moves_.erase(std::unique(moves_.begin(), moves_.end(), same), moves_.end());
  first_.assign(k + 1, 0);
  for (const Move& move : moves_) ++first_[move.from + 1];
  for (int32_t b = 0; b < k; ++b) first_[b + 1] += first_[b];
}

// Finds the cheapest chain from a block to one with room (Dijkstra; gains count as no loss), through blocks
// that no chain since find_moves() has used, and makes its moves.
bool EvenSizes::follow_chain(int32_t from, std::vector<int32_t>& block, std::vector<int64_t>& load,
                  std::span<const int64_t> size) {
  using Reached = std::tuple<int64_t, int32_t, int32_t>;  // loss, number of moves, block
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  const size_t k = size.size();
  best_.assign(k, {INT64_MAX, 0});
  move_.assign(k, -1);
  best_[from] = {0, 0};
  queue.push({0, 0, from});
  while (!queue.empty()) {
    const auto [loss, length, a] = queue.top();
    queue.pop();
    if (best_[a] != std::pair(loss, length)) continue;
    if (load[a] < size[a]) {
      make_moves(from, a, block);
      --load[from], ++load[a];
      return true;
    }
    for (int64_t m = first_[a]; m < first_[a + 1]; ++m) {
      const int32_t b = moves_[m].to;
      const std::pair reached(loss + std::max<int64_t>(0, moves_[m].loss), length + 1);
      if (used_[b] || reached >= best_[b]) continue;
      best_[b] = reached, move_[b] = m;
      queue.push({reached.first, reached.second, b});
    }
  }
  return false;
}

void EvenSizes::make_moves(int32_t from, int32_t to, std::vector<int32_t>& block) {
  used_[from] = 1;
  for (int32_t b = to; b != from; b = moves_[move_[b]].from) {
    block[moves_[move_[b]].vertex] = b;
    used_[b] = 1;
  }
}

}  // namespace hopbytes
