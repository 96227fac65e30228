#include "partition/refinement/even_sizes.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace hopbytes {

// Lists the cheapest move from every block to each adjacent one, and to the block with the most room, so that
// there is a chain between any two. Only blocks are listed anew that have changed since the last call, or
// have a vertex next to one that has moved. Returns the scanned edges.
template <class D>
int64_t EvenSizes::find_moves(const AnyGraph& g, const D& distance, const std::vector<int32_t>& block,
                              int32_t roomiest) {
  const auto k = static_cast<int32_t>(moves_.size());
  int64_t scanned = 0;
  std::vector<Move> to_roomiest(k);
  const auto cost_in = [&](int32_t b) {
    int64_t cost = 0;
    for (const auto& [c, weight] : sums_.entries()) cost += weight * distance(b, c);
    return cost;
  };
  for (int32_t b = 0; b < k; ++b)
    if (stale_[b]) moves_[b].clear();
  for (int32_t v = 0; v < g.n; ++v) {
    const int32_t own = block[v];
    if (!stale_[own]) continue;
    scanned += 2 * g.degree(v);
    sums_.start(g.degree(v));
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) sums_.add(block[g.adj[e]], g.weight[e]);
    const int64_t now = cost_in(own);
    for (const auto& [b, weight] : sums_.entries())
      if (b != own) moves_[own].push_back({own, b, cost_in(b) - now, v});
    const Move away{own, roomiest, cost_in(roomiest) - now, v};
    if (to_roomiest[own].vertex < 0 || away.loss < to_roomiest[own].loss) to_roomiest[own] = away;
  }
  for (int32_t b = 0; b < k; ++b)
    if (stale_[b] && b != roomiest && to_roomiest[b].vertex >= 0) moves_[b].push_back(to_roomiest[b]);
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

// The moves of the blocks next to a vertex that has moved are listed anew.
void EvenSizes::mark_stale(const AnyGraph& g, int32_t v, const std::vector<int32_t>& block) {
  for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) stale_[block[g.adj[e]]] = 1;
}

void EvenSizes::make_moves(const AnyGraph& g, int32_t from, int32_t to, std::vector<int32_t>& block) {
  used_[from] = 1;
  for (int32_t b = to; b != from; b = move_[b]->from) {
    const int32_t v = move_[b]->vertex;
    block[v] = b;
    used_[b] = stale_[b] = stale_[move_[b]->from] = 1;
    mark_stale(g, v, block);
  }
}

// Moves the members of a block that lose least to the next one, each after those before it. If too few are
// connected with that block, some others follow, so that a few scans of the graph suffice.
template <class D>
void EvenSizes::move_along(const AnyGraph& g, const D& distance, std::span<const int32_t> members,
                           int64_t count, Link& link, std::vector<int32_t>& block) {
  constexpr int64_t least_share = 4;
  const auto [from, to] = std::pair(link.from, link.to);
  const auto gain = [&](int32_t v) {
    int64_t sum = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
      sum += g.weight[e] * (distance(from, block[g.adj[e]]) - distance(to, block[g.adj[e]]));
    return sum;
  };
  const auto touches = [&](int32_t v) {
    return std::any_of(g.adj + g.start[v], g.adj + g.start[v + 1], [&](int32_t u) { return block[u] == to; });
  };
  heap_.resize(g.n);
  for (const int32_t v : members)
    if (touches(v)) heap_.push(v, gain(v));
  const int64_t each = distance(from, to) - distance(from, from) + distance(to, from) - distance(to, to);
  while (!heap_.empty() && std::ssize(link.moved) < count) {
    const int32_t v = heap_.top();
    heap_.pop();
    block[v] = to;
    link.moved.push_back(v);
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (block[u] != from) continue;
      if (heap_.contains(u)) heap_.change(u, heap_.key(u) + g.weight[e] * each);
      else heap_.push(u, gain(u));
    }
  }
  heap_.clear();
  for (const int32_t v : members) {
    if (std::ssize(link.moved) >= std::max<int64_t>(1, count / least_share)) break;
    if (block[v] == from) block[v] = to, link.moved.push_back(v);
  }
}

// Moves several vertices along every link of a chain whose ends miss their sizes by `most`. Where PEs of
// different capacities exchange their contents, blocks miss their sizes by thousands, and one vertex per
// scan of the graph would take hours. Returns the number of vertices.
int64_t EvenSizes::make_many_moves(const AnyGraph& g, const AnyDistance& distance, int32_t from, int32_t to,
                                   int64_t most, std::vector<int32_t>& block) {
  const GroupMembers& members = members_ ? *members_ : members_.emplace(block, std::ssize(used_));
  std::vector<Link> links;
  used_[from] = 1;
  for (int32_t b = to; b != from; b = links.back().from) {
    used_[b] = 1;
    links.push_back({move_[b]->from, b, {}});
  }
  int64_t count = most / kFew;  // The others move when all losses are known again.
  // From the first link on, so that vertices next to the block to come have not left.
  for (size_t i = links.size(); i-- > 0;) {
    distance.in_form(
        [&](const auto& form) { move_along(g, form, members.of(links[i].from), count, links[i], block); });
    count = std::min(count, std::ssize(links[i].moved));
  }
  for (const Link& link : links) {
    for (const int32_t v : link.moved) mark_stale(g, v, block);
    stale_[link.from] = stale_[link.to] = 1;
    for (size_t i = count; i < link.moved.size(); ++i) block[link.moved[i]] = link.from;
  }
  return count;
}

// Finds the cheapest chain from a block to one with room (Dijkstra; gains count as no loss), through blocks
// that no chain since find_moves() has used, and makes its moves. Where there is none, the blocks that were
// reached lead to no room for any other chain either, and count as used.
bool EvenSizes::follow_chain(const AnyGraph& g, const AnyDistance& distance, int32_t from,
                             std::vector<int32_t>& block, std::vector<int64_t>& load,
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
      int64_t count = std::min(load[from] - size[from], size[a] - load[a]);
      if (count > kFew) count = make_many_moves(g, distance, from, a, count, block);
      else make_moves(g, from, a, block), count = 1;
      load[from] -= count, load[a] += count;
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

bool EvenSizes::refine(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
                       std::vector<int64_t>& load, std::span<const int64_t> size, const Control& control) {
  const auto k = static_cast<int32_t>(size.size());
  moves_.assign(k, {});
  stale_.assign(k, 1);
  while (!control.should_stop()) {
    std::vector<int32_t> above;
    for (int32_t b = 0; b < k; ++b)
      if (load[b] > size[b]) above.push_back(b);
    if (above.empty()) return true;
    int32_t roomiest = 0;
    for (int32_t b = 1; b < k; ++b)
      if (size[b] - load[b] > size[roomiest] - load[roomiest]) roomiest = b;
    const auto find = [&](const auto& form) { return find_moves(g, form, block, roomiest); };
    control.record_work(distance.in_form(find));
    used_.assign(k, 0);
    best_.assign(k, {INT64_MAX, 0});
    move_.assign(k, nullptr);
    reached_.clear();
    members_.reset();
    bool moved = false;
    for (const int32_t from : above)
      moved |= !used_[from] && follow_chain(g, distance, from, block, load, size);
    if (!moved) return false;
    if (members_) control.record_work(g.n + g.arcs());
  }
  return false;
}

}  // namespace hopbytes
