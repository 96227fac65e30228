#include "partition/refinement/balance_exactly.hpp"

#include <algorithm>
#include <utility>

namespace hopbytes {

namespace {

struct Mover {
  int32_t vertex = -1;
  int64_t gain = 0;
};

// For every ordered pair of blocks, the vertex whose move from the first to the second costs least, the first
// one of several. After moves only those blocks are looked at again whose vertices or their neighbours have
// moved.
class CheapestMoves {
 public:
  CheapestMoves(const AnyGraph& g, const int32_t* part, int32_t k)
      : g_(g),
        part_(part),
        k_(k),
        movers_(static_cast<size_t>(k) * k),
        alone_(k),
        stale_(k, 1),
        connection_(k, 0),
        last_(k, -1) {}

  const Mover& from(int32_t a, int32_t b) const { return movers_[int64_t{a} * k_ + b]; }

  // Has to be called after v has moved from a block.
  void moved(int32_t v, int32_t from) {
    stale_[from] = stale_[part_[v]] = 1;
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) stale_[part_[g_.adj[e]]] = 1;
  }

  // Returns the number of scanned edges.
  int64_t update() {
    for (int32_t b = 0; b < k_; ++b) {
      if (!stale_[b]) continue;
      alone_[b] = {};
      std::fill_n(movers_.begin() + int64_t{b} * k_, k_, Mover{});
    }
    int64_t scanned = 0;
    std::fill(last_.begin(), last_.end(), -1);
    for (int32_t v = 0; v < g_.n; ++v)
      if (stale_[part_[v]]) scanned += g_.degree(v), look_at(v);
    for (int32_t b = 0; b < k_; ++b)
      if (stale_[b]) stale_[b] = 0, consider_others(b);
    return scanned;
  }

 private:
  static void keep_better(Mover& best, const Mover& other) {
    if (best.vertex < 0 || other.gain > best.gain) best = other;
  }

  // Considers v for moves to the blocks of its neighbours, and to any other block.
  void look_at(int32_t v) {
    const int32_t own = part_[v];
    near_.clear();
    last_[own] = v, connection_[own] = 0;
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t b = part_[g_.adj[e]];
      if (last_[b] != v) last_[b] = v, connection_[b] = 0, near_.push_back(b);
      connection_[b] += g_.weight[e];
    }
    const int64_t inside = connection_[own];
    keep_better(alone_[own], {v, -inside});
    for (const int32_t b : near_) keep_better(movers_[int64_t{own} * k_ + b], {v, connection_[b] - inside});
  }

  // Where the best vertex without a neighbour in the other block is better, or as good and earlier, it moves.
  void consider_others(int32_t from) {
    const Mover& other = alone_[from];
    if (other.vertex < 0) return;
    for (int32_t b = 0; b < k_; ++b) {
      Mover& best = movers_[int64_t{from} * k_ + b];
      if (b == from) continue;
      if (best.gain == other.gain && best.vertex > other.vertex) best = other;
      keep_better(best, other);
    }
  }

  const AnyGraph& g_;
  const int32_t* part_;
  int32_t k_;
  std::vector<Mover> movers_;  // row by row
  std::vector<Mover> alone_;   // of every block, for moves to a block in which the vertex has no neighbour
  std::vector<uint8_t> stale_;
  std::vector<int64_t> connection_;  // of a vertex with every block
  std::vector<int32_t> last_, near_;  // the vertex counted last for each block; its blocks other than its own
};

// Returns the blocks of the cheapest chain of moves to a block with room (Bellman, Ford, by number of moves).
std::vector<int32_t> cheapest_chain(int32_t from, const CheapestMoves& moves,
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
    bool changed = false;
    for (int32_t a = 0; a < k; ++a)
      for (int32_t b = 0; b < k; ++b) {
        const Mover& mover = moves.from(a, b);
        const std::vector<int32_t>& blocks = shorter[a].blocks;
        if (blocks.empty() || mover.vertex < 0) continue;
        if (std::find(blocks.begin(), blocks.end(), b) != blocks.end()) continue;
        const int64_t gain = shorter[a].gain + mover.gain;
        if (!best_chain[b].blocks.empty() && gain <= best_chain[b].gain) continue;
        best_chain[b] = {gain, blocks};
        best_chain[b].blocks.push_back(b);
        changed = true;
      }
    if (!changed) break;
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
  CheapestMoves moves(g, part, k);
  bool moved = false;
  auto overfull = [&] {
    for (int32_t b = 0; b < k; ++b)
      if (load[b] > size[b]) return b;
    return -1;
  };
  for (int32_t from = overfull(); from >= 0; from = overfull()) {
    control.record_work(moves.update());
    const std::vector<int32_t> chain = cheapest_chain(from, moves, load, size);
    if (chain.empty()) break;
    const int64_t count = moves_at_once(chain, load, size);
    std::vector<std::vector<int32_t>> moving;
    for (size_t i = 1; i < chain.size(); ++i) {
      const int32_t a = chain[i - 1], b = chain[i];
      if (count == 1) moving.push_back({moves.from(a, b).vertex});
      else moving.push_back(cheapest_movers(g, part, a, b, count)), control.record_work(g.n);
    }
    for (size_t i = 1; i < chain.size(); ++i) {
      for (const int32_t v : moving[i - 1]) part[v] = chain[i], moves.moved(v, chain[i - 1]);
      load[chain[i - 1]] -= count;
      load[chain[i]] += count;
    }
    moved = true;
  }
  return moved;
}

}  // namespace hopbytes
