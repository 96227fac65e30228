#include "partition/refinement/balance_exactly.hpp"

#include <algorithm>
#include <utility>

namespace hopbytes {

namespace {

struct Mover {
  int32_t vertex = -1;
  int64_t gain = 0;
};

// For every ordered pair of blocks (row by row), finds the vertex whose move from the first to the second
// costs least.
void find_movers(const AnyGraph& g, const int32_t* part, int32_t k, std::vector<Mover>& movers) {
  movers.assign(static_cast<size_t>(k) * k, Mover{});
  std::vector<int64_t> connection(k);
  for (int32_t v = 0; v < g.n; ++v) {
    const int32_t own = part[v];
    std::fill(connection.begin(), connection.end(), 0);
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) connection[part[g.adj[e]]] += g.weight[e];
    for (int32_t b = 0; b < k; ++b) {
      Mover& best = movers[own * k + b];
      if (b != own && (best.vertex < 0 || connection[b] - connection[own] > best.gain))
        best = {v, connection[b] - connection[own]};
    }
  }
}

// Returns the blocks of the cheapest chain of moves to a block with room (Bellman, Ford, by number of moves).
std::vector<int32_t> cheapest_chain(int32_t from, const std::vector<Mover>& movers,
                                    const std::vector<int64_t>& load, std::span<const int64_t> size) {
  struct Chain {
    int64_t gain = 0;
    std::vector<int32_t> blocks;
  };
  const auto k = static_cast<int32_t>(size.size());
  std::vector<Chain> best_chain(k);
  best_chain[from].blocks = {from};
  for (int32_t length = 1; length < k; ++length) {
    const std::vector<Chain> shorter = best_chain;
    for (int32_t a = 0; a < k; ++a)
      for (int32_t b = 0; b < k; ++b) {
        const Mover& mover = movers[a * k + b];
        const std::vector<int32_t>& blocks = shorter[a].blocks;
        if (blocks.empty() || mover.vertex < 0) continue;
        if (std::find(blocks.begin(), blocks.end(), b) != blocks.end()) continue;
        const int64_t gain = shorter[a].gain + mover.gain;
        if (!best_chain[b].blocks.empty() && gain <= best_chain[b].gain) continue;
        best_chain[b] = {gain, blocks};
        best_chain[b].blocks.push_back(b);
      }
  }
  const Chain* best = nullptr;
  for (int32_t b = 0; b < k; ++b)
    if (load[b] < size[b] && !best_chain[b].blocks.empty() && (!best || best_chain[b].gain > best->gain))
      best = &best_chain[b];
  return best ? best->blocks : std::vector<int32_t>{};
}

// Returns the `count` vertices of block `from` whose moves to block `to` cost least.
std::vector<int32_t> cheapest_movers(const AnyGraph& g, const int32_t* part, int32_t from, int32_t to,
                                     int64_t count) {
  std::vector<std::pair<int64_t, int32_t>> cost;  // and vertex
  for (int32_t v = 0; v < g.n; ++v) {
    if (part[v] != from) continue;
    int64_t loss = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t b = part[g.adj[e]];
      loss += (b == from ? g.weight[e] : 0) - (b == to ? g.weight[e] : 0);
    }
    cost.emplace_back(loss, v);
  }
  count = std::min(count, static_cast<int64_t>(cost.size()));
  std::nth_element(cost.begin(), cost.begin() + count, cost.end());
  std::vector<int32_t> movers;
  movers.reserve(count);
  for (int64_t i = 0; i < count; ++i) movers.push_back(cost[i].second);
  return movers;
}

// Returns how many vertices move along a chain at once. Where a search was stopped early, blocks are
// overloaded by thousands; one move per scan of the graph would take minutes then. Half of them leaves the
// rest to gains that are up to date.
int64_t moves_at_once(const std::vector<int32_t>& chain, const std::vector<int64_t>& load,
                      std::span<const int64_t> size) {
  constexpr int64_t few = 16;
  const int32_t from = chain.front(), to = chain.back();
  int64_t most = std::min(load[from] - size[from], size[to] - load[to]);
  if (most <= few) return 1;
  for (size_t i = 0; i + 1 < chain.size(); ++i) most = std::min(most, load[chain[i]]);
  return std::max<int64_t>(1, most / 2);
}

}  // namespace

bool balance_exactly(const AnyGraph& g, int32_t* part, std::vector<int64_t>& load,
                     std::span<const int64_t> size, const Control& control) {
  const auto k = static_cast<int32_t>(size.size());
  std::vector<Mover> movers;
  bool moved = false;
  auto overfull = [&] {
    for (int32_t b = 0; b < k; ++b)
      if (load[b] > size[b]) return b;
    return -1;
  };
  for (int32_t from = overfull(); from >= 0; from = overfull()) {
    find_movers(g, part, k, movers);
    control.record_work(g.arcs());
    const std::vector<int32_t> chain = cheapest_chain(from, movers, load, size);
    if (chain.empty()) break;
    const int64_t count = moves_at_once(chain, load, size);
    std::vector<std::vector<int32_t>> moving;
    for (size_t i = 1; i < chain.size(); ++i) {
      const int32_t a = chain[i - 1], b = chain[i];
      if (count == 1) moving.push_back({movers[a * k + b].vertex});
      else moving.push_back(cheapest_movers(g, part, a, b, count)), control.record_work(g.n);
    }
    for (size_t i = 1; i < chain.size(); ++i) {
      for (const int32_t v : moving[i - 1]) part[v] = chain[i];
      load[chain[i - 1]] -= count;
      load[chain[i]] += count;
    }
    moved = true;
  }
  return moved;
}

}  // namespace hopbytes
