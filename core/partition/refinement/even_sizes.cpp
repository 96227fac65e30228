#include "partition/refinement/even_sizes.hpp"

#include <optional>
#include <queue>
#include <tuple>

#include "graph/any_graph.hpp"
#include "partition/group_members.hpp"
#include "util/sparse_sums.hpp"
#include "util/vertex_heap.hpp"

namespace hopbytes {

namespace {

class EvenSizes {
 public:
  // Everything is kept by reference; the blocks and the loads change.
  EvenSizes(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
            std::vector<int64_t>& load, std::span<const int64_t> size)
      : g_(g),
        distance_(distance),
        block_(block),
        load_(load),
        size_(size),
        k_(static_cast<int32_t>(size.size())),
        moves_(k_),
        stale_(k_, 1) {}

  bool run(const Control& control) {
    while (!control.should_stop()) {
      std::vector<int32_t> above;
      for (int32_t b = 0; b < k_; ++b)
        if (load_[b] > size_[b]) above.push_back(b);
      if (above.empty()) return true;
      control.record_work(distance_.in_form([&](const auto& distance) { return find_moves(distance); }));
      used_.assign(k_, 0);
      best_.assign(k_, {INT64_MAX, 0});
      move_.assign(k_, nullptr);
      reached_.clear();
      members_.reset();
      bool moved = false;
      for (const int32_t from : above) moved |= !used_[from] && follow_chain(from);
      if (!moved) return false;
      if (members_) control.record_work(g_.n + g_.arcs());
    }
    return false;
  }

 private:
  static constexpr int64_t kFew = 16;  // of which one moves at a time

  struct Move {
    int32_t from = -1, to = -1;
    int64_t loss = 0;
    int32_t vertex = -1;
    auto key() const { return std::tuple(to, loss, vertex); }
  };
  struct Link {
    int32_t from, to;
    std::vector<int32_t> moved;
  };

  int64_t room(int32_t b) const { return size_[b] - load_[b]; }

  // Lists the cheapest move from every block to each adjacent one, and to the block with the most room, so
  // that there is a chain between any two. Only blocks are listed anew that have changed since the last call,
  // or have a vertex next to one that has moved. Returns the scanned edges.
  template <class D> int64_t find_moves(const D& distance) {
    int32_t roomiest = 0;
    for (int32_t b = 1; b < k_; ++b)
      if (room(b) > room(roomiest)) roomiest = b;
    int64_t scanned = 0;
    std::vector<Move> to_roomiest(k_);
    const auto cost_in = [&](int32_t b) {
      int64_t cost = 0;
      for (const auto& [c, weight] : sums_.entries()) cost += weight * distance(b, c);
      return cost;
    };
    for (int32_t b = 0; b < k_; ++b)
      if (stale_[b]) moves_[b].clear();
    for (int32_t v = 0; v < g_.n; ++v) {
      const int32_t own = block_[v];
      if (!stale_[own]) continue;
      scanned += 2 * g_.degree(v);
      sums_.start(g_.degree(v));
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) sums_.add(block_[g_.adj[e]], g_.weight[e]);
      const int64_t now = cost_in(own);
      for (const auto& [b, weight] : sums_.entries())
        if (b != own) moves_[own].push_back({own, b, cost_in(b) - now, v});
      const Move away{own, roomiest, cost_in(roomiest) - now, v};
      if (to_roomiest[own].vertex < 0 || away.loss < to_roomiest[own].loss) to_roomiest[own] = away;
    }
    for (int32_t b = 0; b < k_; ++b) {
      if (!stale_[b]) continue;
      auto& moves = moves_[b];
      if (b != roomiest && to_roomiest[b].vertex >= 0) moves.push_back(to_roomiest[b]);
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
  bool follow_chain(int32_t from) {
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
      if (room(a) > 0) {
        int64_t count = std::min(-room(from), room(a));
        if (count > kFew) count = make_many_moves(from, a, count);
        else make_moves(from, a), count = 1;
        load_[from] -= count, load_[a] += count;
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

  // The moves of the blocks next to a vertex that has moved are listed anew.
  void mark_stale(int32_t v) {
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) stale_[block_[g_.adj[e]]] = 1;
  }

  void make_moves(int32_t from, int32_t to) {
    used_[from] = 1;
    for (int32_t b = to; b != from; b = move_[b]->from) {
      const int32_t v = move_[b]->vertex;
      block_[v] = b;
      used_[b] = stale_[b] = stale_[move_[b]->from] = 1;
      mark_stale(v);
    }
  }

  // Moves several vertices along every link of a chain whose ends miss their sizes by `most`. Where PEs of
  // different capacities exchange their contents, blocks miss their sizes by thousands, and one vertex per
  // scan of the graph would take hours. Returns the number of vertices.
  int64_t make_many_moves(int32_t from, int32_t to, int64_t most) {
    const GroupMembers& members = members_ ? *members_ : members_.emplace(block_, k_);
    std::vector<Link> links;
    used_[from] = 1;
    for (int32_t b = to; b != from; b = links.back().from) {
      used_[b] = 1;
      links.push_back({move_[b]->from, b, {}});
    }
    int64_t count = most / kFew;  // The others move when all losses are known again.
    // From the first link on, so that vertices next to the block to come have not left.
    for (size_t i = links.size(); i-- > 0;) {
      distance_.in_form(
          [&](const auto& distance) { move_along(distance, members.of(links[i].from), count, links[i]); });
      count = std::min(count, std::ssize(links[i].moved));
    }
    for (const Link& link : links) {
      for (const int32_t v : link.moved) mark_stale(v);
      stale_[link.from] = stale_[link.to] = 1;
      for (size_t i = count; i < link.moved.size(); ++i) block_[link.moved[i]] = link.from;
    }
    return count;
  }

  // Moves the members of a block that lose least to the next one, each after those before it. If too few are
  // connected with that block, some others follow, so that a few scans of the graph suffice.
  template <class D>
  void move_along(const D& distance, std::span<const int32_t> members, int64_t count, Link& link) {
    constexpr int64_t least_share = 4;
    const auto [from, to] = std::pair(link.from, link.to);
    const auto gain = [&](int32_t v) {
      int64_t sum = 0;
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
        sum += g_.weight[e] * (distance(from, block_[g_.adj[e]]) - distance(to, block_[g_.adj[e]]));
      return sum;
    };
    const auto touches = [&](int32_t v) {
      return std::any_of(g_.adj + g_.start[v], g_.adj + g_.start[v + 1],
                         [&](int32_t u) { return block_[u] == to; });
    };
    heap_.resize(g_.n);
    for (const int32_t v : members)
      if (touches(v)) heap_.push(v, gain(v));
    const int64_t each = distance(from, to) - distance(from, from) + distance(to, from) - distance(to, to);
    while (!heap_.empty() && std::ssize(link.moved) < count) {
      const int32_t v = heap_.top();
      heap_.pop();
      block_[v] = to;
      link.moved.push_back(v);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t u = g_.adj[e];
        if (block_[u] != from) continue;
        heap_.set(u, heap_.contains(u) ? heap_.key(u) + g_.weight[e] * each : gain(u));
      }
    }
    heap_.clear();
    for (const int32_t v : members) {
      if (std::ssize(link.moved) >= std::max<int64_t>(1, count / least_share)) break;
      if (block_[v] == from) block_[v] = to, link.moved.push_back(v);
    }
  }

  const AnyGraph& g_;
  const AnyDistance& distance_;
  std::vector<int32_t>& block_;
  std::vector<int64_t>& load_;
  std::span<const int64_t> size_;
  int32_t k_;
  std::vector<std::vector<Move>> moves_;  // of every block, by the other block
  std::vector<uint8_t> stale_;  // whether the moves of a block may have changed
  std::optional<GroupMembers> members_;  // of the blocks of many moves
  VertexHeap heap_;
  SparseSums sums_;  // of the weights from a vertex into each block
  std::vector<uint8_t> used_;
  std::vector<std::pair<int64_t, int32_t>> best_;  // loss and number of moves up to each block
  std::vector<const Move*> move_;  // the last move of the chain to each block
  std::vector<int32_t> reached_;  // the blocks of which `best_` and `move_` are set
};

}  // namespace

template <class W> bool even_sizes(Partition<W>& partition, const Control& control) {
  const AnyGraph g(partition.graph());
  std::vector<int64_t> load = partition.loads();
  const bool even =
      EvenSizes(g, partition.distance(), partition.blocks(), load, partition.max_block_weights())
          .run(control);
  if (load != partition.loads()) partition.blocks_were_changed();
  return even;
}

template bool even_sizes(Partition<int32_t>&, const Control&);
template bool even_sizes(Partition<int64_t>&, const Control&);

}  // namespace hopbytes
