#include "partition/refinement/synchronous_moves.hpp"

#include <cstring>

#include "partition/score.hpp"
#include "util/sparse_sums.hpp"

namespace hopbytes {

namespace {

constexpr int64_t moves_per_range = 512, scanned_per_range = 1 << 14;
constexpr size_t most_blocks = 32;  // adjacent blocks that a vertex compares
constexpr int32_t most_fruitless = 3, most_sweeps = 3;
constexpr int64_t tolerance = 4;  // a loss of a quarter is tolerated
constexpr int64_t little = 200;  // a round is fruitless if it gains less than this part of the gain before

// Only the methods that read weights or distances are templates.
class SynchronousSearch {
 public:
  SynchronousSearch(const GraphShape& g, std::span<const int64_t> max_block_weight,
                    std::span<uint8_t> near_boundary, std::span<int32_t> block, Team& team)
      : g_(g),
        max_block_weight_(max_block_weight),
        block_(block),
        near_boundary_(near_boundary),
        team_(team),
        load_(block_loads(g, std::ssize(max_block_weight), block.data(), team)),
        target_(g.n, -1),
        gain_(g.n),
        confirmed_(g.n, 0),
        is_active_(near_boundary.begin(), near_boundary.end()),
        rests_(g.n, 0),
        incoming_(max_block_weight.size()),
        sums_(team.threads()) {}

  SynchronousMoves run(int32_t rounds, const std::function<int64_t()>& round_of_moves,
                       const Control& control) {
    int64_t moves = 0, scanned = g_.n, cost = 0, best = 0;
    int64_t span = std::min(g_.n, scanned_per_range);
    int32_t fruitless = 0;
    for (int32_t round = 0; round < rounds && fruitless < most_fruitless && !control.should_stop(); ++round) {
      collect_active();
      const int64_t before = scanned;
      for (const int32_t v : active_) scanned += g_.degree(v);
      // One thread collects the candidates; the others share the active vertices.
      const auto active = std::ssize(active_), ranges = active / moves_per_range + 1;
      span += active + (scanned - before) / ranges;
      first_round_ = round == 0;
      only_with_room_ = fruitless > 0;
      cost += round_of_moves();
      moves += static_cast<int64_t>(candidates_.size());
      fruitless = best - cost > -best / little ? 0 : fruitless + 1;
      if (cost < best) {
        best = cost;
        undo_.clear();
      }
    }
    undo_moves();
    control.record_parallel_work(scanned, std::min(span, scanned));
    return {moves, std::move(load_)};
  }

  // Makes a round of moves. Returns the change of the cost.
  template <class W, class D> int64_t run_round(const Graph<W>& g, const D& distance) {
    for_each(active_, [&](int32_t worker, int32_t v) {
      if (rests_[v]) rests_[v] = 0;
      else choose(v, g, distance, sums_[worker]);
    });
    candidates_.clear();
    for (const int32_t v : active_)
      if (target_[v] >= 0) candidates_.push_back(v);
    std::fill(incoming_.begin(), incoming_.end(), 0);
    for_each(candidates_, [&](int32_t, int32_t v) { confirm(v, g, distance); });
    keep_to_capacity();
    int64_t twice = 0;
    for_each(candidates_, [&](int32_t, int32_t v) { shared_add(twice, twice_the_change(v, g, distance)); });
    for (const int32_t v : candidates_) undo_.push_back({v, block_[v]});
    for_each(candidates_, [&](int32_t, int32_t v) { apply(v); });
    return twice / 2;
  }

 private:
  struct Move {
    int32_t vertex, from;
  };

  bool before(int32_t u, int32_t v) const { return gain_[u] != gain_[v] ? gain_[u] > gain_[v] : u < v; }
  bool has_room(int32_t b, int32_t v) const {
    return (only_with_room_ ? room(b) : max_block_weight_[b]) >= g_.load[v];
  }
  int64_t room(int32_t b) const { return max_block_weight_[b] - load_[b]; }

  // Calls work(worker, v).
  template <class Work>
  void for_each(const std::vector<int32_t>& vertices, Work work) {
    parallel_ranges(static_cast<int64_t>(vertices.size()), moves_per_range, team_,
                    [&](int32_t worker, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) work(worker, vertices[i]);
                    });
  }

  // Lists the vertices of is_active_, and clears it.
  void collect_active() {
    std::vector<int64_t> at((g_.n + scanned_per_range - 1) / scanned_per_range + 1, 0);
    parallel_ranges(g_.n, scanned_per_range, team_, [&](int32_t, int64_t begin, int64_t end) {
      at[begin / scanned_per_range + 1] = std::count(is_active_.begin() + begin, is_active_.begin() + end, 1);
    });
    for (size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
    active_.resize(at.back());
    parallel_ranges(g_.n, scanned_per_range, team_, [&](int32_t, int64_t begin, int64_t end) {
      int64_t filled = at[begin / scanned_per_range];
      const int64_t last = at[begin / scanned_per_range + 1];
      for (uint8_t* mark = is_active_.data() + begin; filled < last; *mark = 0) {
        mark = static_cast<uint8_t*>(std::memchr(mark, 1, is_active_.data() + end - mark));
        active_[filled++] = static_cast<int32_t>(mark - is_active_.data());
      }
    });
  }

  // Makes v a candidate if a block is worth moving to.
  template <class W, class D>
  void choose(int32_t v, const Graph<W>& g, const D& distance, SparseSums& sums) {
    if (g.linear_cost && g.linear_cost->kind[v] != 0) return;  // v is fixed.
    const int32_t own = block_[v];
    const int64_t end = g.start[v + 1];
    int64_t inside = 0, outside = 0, e = g.start[v];
    int32_t other = -1;  // the first block of a neighbour beside the own one
    for (; e < end; ++e) {
      const int32_t b = block_[g.adj[e]];
      if (b == own) inside += g.weight[e];
      else if (b == other || other < 0) other = b, outside += g.weight[e];
      else break;
    }
    if (other < 0) {
      if (first_round_) near_boundary_[v] = 0;
      return;
    }
    if (e == end) {  // as for most vertices near a boundary
      const int64_t gain = outside * (distance(own, other) - distance(other, other)) +
                           inside * (distance(own, own) - distance(other, own));
      if (has_room(other, v)) propose(v, other, gain, inside * distance(own, other));
      return;
    }
    sums.start(g.degree(v));
    for (e = g.start[v]; e < end; ++e) sums.add(block_[g.adj[e]], g.weight[e]);
    auto cost = [&](int32_t b) {
      int64_t total = 0;
      for (const auto& [block, weight] : sums.entries()) total += weight * distance(b, block);
      return total;
    };
    const int64_t own_cost = cost(own);
    int64_t best = std::numeric_limits<int64_t>::min();
    int32_t target = -1;
    size_t compared = 0;
    inside = 0;
    for (const auto& [b, weight] : sums.entries()) {
      if (b == own) inside = weight;
      if (b == own || compared == most_blocks || !has_room(b, v)) continue;
      ++compared;
      const int64_t gain = own_cost - cost(b);
      if (gain > best || (gain == best && load_[b] < load_[target])) best = gain, target = b;
    }
    if (target >= 0) propose(v, target, best, inside * distance(own, target));
  }

  // Makes v a candidate unless the loss exceeds what is tolerated of the cost of its edges inside its block.
  void propose(int32_t v, int32_t target, int64_t gain, int64_t cost_inside) {
    if (gain < -(cost_inside / tolerance)) return;
    target_[v] = target;
    gain_[v] = gain;
  }

  // Computes the gain of a candidate again as if all candidates with larger ones had moved.
  template <class W, class D>
  void confirm(int32_t v, const Graph<W>& g, const D& distance) {
    const int32_t from = block_[v], to = target_[v];
    int64_t gain = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      const int32_t b = target_[u] >= 0 && before(u, v) ? target_[u] : block_[u];
      gain += g.weight[e] * (distance(from, b) - distance(to, b));
    }
    confirmed_[v] = gain >= 0;
    if (confirmed_[v]) shared_add(incoming_[to], g.load[v]);
  }

  // Keeps the candidates that are confirmed and fit.
  void keep_to_capacity() {
    std::vector<int64_t> load = load_;
    auto move = [&](int32_t v) {
      load[block_[v]] -= g_.load[v];
      load[target_[v]] += g_.load[v];
    };
    std::vector<int32_t> competing;
    for (const int32_t v : candidates_) {
      if (!confirmed_[v]) continue;
      if (incoming_[target_[v]] <= room(target_[v])) move(v);
      else competing.push_back(v), confirmed_[v] = 0;
    }
    std::sort(competing.begin(), competing.end(), [&](int32_t u, int32_t v) { return before(u, v); });
    for (int32_t sweep = 0; sweep < most_sweeps; ++sweep) {
      const auto entered = std::erase_if(competing, [&](int32_t v) {
        confirmed_[v] = load[target_[v]] + g_.load[v] <= max_block_weight_[target_[v]];
        if (confirmed_[v]) move(v);
        return confirmed_[v];
      });
      if (entered == 0) break;
    }
    std::erase_if(candidates_, [&](int32_t v) {
      if (!confirmed_[v]) target_[v] = -1, is_active_[v] = 1;
      return !confirmed_[v];
    });
  }

  // Returns twice what the move of v changes if all candidates move; an edge between two of them is counted
  // half at each.
  template <class W, class D>
  int64_t twice_the_change(int32_t v, const Graph<W>& g, const D& distance) const {
    const int32_t from = block_[v], to = target_[v];
    int64_t twice = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e], b = block_[u];
      const bool both = target_[u] >= 0;
      twice += g.weight[e] * (distance(to, both ? target_[u] : b) - distance(from, b)) * (both ? 1 : 2);
    }
    return twice;
  }

  // Moves a candidate; it and its neighbours become active.
  void apply(int32_t v) {
    shared_add(load_[block_[v]], -g_.load[v]);
    shared_add(load_[target_[v]], g_.load[v]);
    block_[v] = target_[v];
    target_[v] = -1;
    rests_[v] = 1;
    shared_store(is_active_[v], uint8_t{1});
    shared_store(near_boundary_[v], uint8_t{1});
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      shared_store(is_active_[g_.adj[e]], uint8_t{1});
      shared_store(near_boundary_[g_.adj[e]], uint8_t{1});
    }
  }

  void undo_moves() {
    for (; !undo_.empty(); undo_.pop_back()) {
      const auto [v, from] = undo_.back();
      load_[block_[v]] -= g_.load[v];
      load_[from] += g_.load[v];
      block_[v] = from;
    }
  }

  const GraphShape& g_;
  std::span<const int64_t> max_block_weight_;
  std::span<int32_t> block_;
  std::span<uint8_t> near_boundary_;
  Team& team_;
  bool first_round_ = true;  // in which marks of vertices inside blocks are removed
  bool only_with_room_ = false;  // whether vertices choose among the blocks with room
  std::vector<int64_t> load_;  // of each block
  std::vector<int32_t> active_;  // ascending
  std::vector<int32_t> candidates_;  // the active vertices that want to move
  std::vector<int32_t> target_;  // of a candidate; -1 for all other vertices
  UnsetVector<int64_t> gain_;  // of a candidate
  std::vector<uint8_t> confirmed_, is_active_, rests_;
  std::vector<int64_t> incoming_;  // load that wants to enter each block
  std::vector<SparseSums> sums_;  // of each worker
  std::vector<Move> undo_;  // the moves since the best round
};

}  // namespace

template <class W>
SynchronousMoves move_synchronously(const Graph<W>& g, const AnyDistance& distance,
                                    std::span<const int64_t> max_block_weight, int32_t rounds,
                                    const Control& control, std::span<uint8_t> near_boundary,
                                    std::span<int32_t> block) {
  SynchronousSearch search(g, max_block_weight, near_boundary, block, control.team());
  const auto round_of_moves = [&] {
    return distance.in_form([&](const auto& form) { return search.run_round(g, form); });
  };
  return search.run(rounds, round_of_moves, control);
}

template SynchronousMoves move_synchronously(const Graph<int32_t>&, const AnyDistance&,
                                             std::span<const int64_t>, int32_t, const Control&,
                                             std::span<uint8_t>, std::span<int32_t>);
template SynchronousMoves move_synchronously(const Graph<int64_t>&, const AnyDistance&,
                                             std::span<const int64_t>, int32_t, const Control&,
                                             std::span<uint8_t>, std::span<int32_t>);

}  // namespace hopbytes
