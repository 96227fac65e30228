// Balances blocks of unit loads exactly, by chains of moves through several blocks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "control.hpp"
#include "work_graph.hpp"

namespace hopbytes {

namespace balance_exactly_detail {

struct Mover {
  int32_t vertex = -1;
  int64_t gain = 0;
};

// For every ordered pair of blocks (row by row), finds the vertex whose move from the first to the second
// costs least.
template <class W>
void find_movers(const WorkGraph<W>& g, const int32_t* part, int32_t k, std::vector<Mover>& movers) {
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
inline std::vector<int32_t> cheapest_chain(int32_t from, const std::vector<Mover>& movers,
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

}  // namespace level_out_detail

// Moves one vertex at a time along the cheapest chain from an overloaded block to an underloaded one, until
// no chain exists or all blocks are balanced. Loads must be 1 each, and the sizes must add up to n. Returns
// whether any vertex moved.
template <class W>
bool balance_exactly(const WorkGraph<W>& g, int32_t* part, std::vector<int64_t>& load,
                     std::span<const int64_t> size, const Control& control) {
  using namespace balance_exactly_detail;
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
    for (size_t i = 1; i < chain.size(); ++i) {
      --load[chain[i - 1]];
      ++load[chain[i]];
      part[movers[chain[i - 1] * k + chain[i]].vertex] = chain[i];
    }
    moved = true;
  }
  return moved;
}

}  // namespace hopbytes
