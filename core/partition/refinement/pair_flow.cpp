#include "partition/refinement/pair_flow.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "util/parallel.hpp"

namespace hopbytes {

namespace {

// Regions of fewer vertices are cut faster than a thread is started.
constexpr int32_t many_vertices = 1 << 11;

}  // namespace

PairFlow::Result PairFlow::improve(const FlowRegion& region, int64_t most_work, Team& team) {
  region_ = &region;
  a_ = region.a, b_ = region.b, work_left_ = most_work, overlapped_ = 0;
  Result result;
  if (number_vertices()) {
    build();
    if (!is_minimum_cut(team) && !stop()) {
      open_cut();
      result.gain = solve(result);
    }
  }
  for (const int32_t v : region.vertices) local_[v] = -1;
  result.work = most_work - work_left_;
  result.span = result.work - overlapped_;
  return result;
}

bool PairFlow::number_vertices() {
  int64_t arcs = 0;
  for (size_t i = 0; i < region_->vertices.size(); ++i) {
    const int32_t v = region_->vertices[i];
    local_[v] = static_cast<int32_t>(i);
    arcs += g_.degree(v);
  }
  work_left_ -= std::ssize(region_->vertices) + arcs;
  return arcs <= std::numeric_limits<int32_t>::max();
}

template <class Outside> void PairFlow::build_network(int64_t across, Outside outside) {
  constexpr int32_t ahead = 4;
  const GraphShape& g = g_;
  const AnyGraph::AnyWeights weight = g_.weight;  // copies, because the network is written in between
  const int32_t *adj = g.adj, *block = block_.data();
  const SparseNumbers::Reader local = local_.reader();
  const int32_t n = static_cast<int32_t>(region_->vertices.size()), in_a = region_->in_a;
  net_.clear(n);
  fixed_[0] = load_[a_], fixed_[1] = load_[b_];
  back_.clear();
  for (int32_t i = 0; i < n; ++i) {
    const int32_t v = region_->vertices[i];
    const bool in_b = i >= in_a;
    if (i + ahead < n) __builtin_prefetch(adj + g.start[region_->vertices[i + ahead]]);
    fixed_[in_b] -= g.load[v];
    net_.open(g.load[v]);
    int64_t terminal_weight = g.linear_cost ? (*g.linear_cost)(v, b_) - (*g.linear_cost)(v, a_) : 0;
    for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e) {
      const int32_t u = adj[e], j = local[u];
      const int64_t w = weight[e];
      if (j < 0) {
        terminal_weight += w * outside(block[u]);
      } else if ((j >= in_a) == in_b) {
        net_.connect(j, w * across);
      } else {
        const int32_t arc = net_.connect(j, 0);
        if (in_b) back_.push_back({arc, 2 * w * across});
        terminal_weight += in_b ? w * across : -w * across;
      }
    }
    net_.supply(terminal_weight);
  }
  net_.close();
}

void PairFlow::build() {
  const int32_t a = a_, b = b_;
  if (distance_.flat())
    return build_network(1, [a, b](int32_t other) { return int64_t{other != b} - int64_t{other != a}; });
  const auto from_blocks = [&](int32_t other) { return distance_(b, other) - distance_(a, other); };
  const int64_t of_a = from_blocks(a), of_b = from_blocks(b);  // most neighbours outside are in these two
  build_network(distance_(a, b), [&, of_a, of_b](int32_t other) {
    return other == a ? of_a : other == b ? of_b : from_blocks(other);
  });
}

bool PairFlow::is_minimum_cut(Team& team) {
  const bool large = net_.n() >= many_vertices;
  bool fits[2];
  for (Budget& budget : work_of_side_) budget.left = work_left_;
  parallel_for(2, large ? team : Team::alone(), [&](int64_t side) {
    fits[side] = side == 0 ? certificate_[0].route_excess(0, region_->in_a, true)
                           : certificate_[1].route_excess(region_->in_a, net_.n(), false);
  });
  const int64_t of_a = work_left_ - work_of_side_[0].left, of_b = work_left_ - work_of_side_[1].left;
  work_left_ -= of_a + of_b;
  if (large) overlapped_ = std::min(of_a, of_b);
  return fits[0] && fits[1];
}

void PairFlow::open_cut() {
  for (const auto& [arc, capacity] : back_) net_[arc].residual = capacity;
  present_ = 0;
  for (int32_t i = 0; i < net_.n(); ++i)
    present_ += std::max<int64_t>(0, i < region_->in_a ? -net_.terminal(i) : net_.terminal(i));
  flow_.start();
  for (auto& candidates : candidates_) candidates.clear();
  seen_.assign(net_.n(), 0);
}

int64_t PairFlow::solve(Result& result) {
  int64_t flow = 0;
  for (int32_t turn = 0;; ++turn) {
    flow += flow_.augment(present_ - flow);
    if (flow >= present_ || stop()) return 0;
    const int64_t load_s = fixed_[0] + flow_.load(Side::kSource),
                  load_t = fixed_[1] + flow_.load(Side::kSink);
    const int64_t load_free = load_[a_] + load_[b_] - load_s - load_t;
    const bool free_to_sink = load_s <= max_block_weight_[a_] && load_t + load_free <= max_block_weight_[b_];
    const bool free_to_source =
        load_s + load_free <= max_block_weight_[a_] && load_t <= max_block_weight_[b_];
    if (free_to_sink || free_to_source) {
      // If both assignments of the free vertices fit, the better balanced one is taken.
      const bool to_source = free_to_source && (!free_to_sink || std::max(load_s + load_free, load_t) <
                                                                     std::max(load_s, load_t + load_free));
      list_moves(to_source, result.moves);
      return present_ - flow;
    }
    result.overloads_a = load_s > max_block_weight_[a_], result.overloads_b = load_t > max_block_weight_[b_];
    if (result.overloads_a || result.overloads_b || turn > 200) return 0;
    const int64_t forced = pierce(
        load_s - max_block_weight_[a_] <= load_t - max_block_weight_[b_] ? Side::kSource : Side::kSink);
    if (forced < 0) return 0;
    flow += forced;
  }
}

int64_t PairFlow::pierce(Side side) {
  const int32_t own = side == Side::kSource ? a_ : b_;
  std::vector<int32_t>& candidates = candidates_[side == Side::kSink];
  const uint8_t bit = side == Side::kSource ? 1 : 2;
  flow_.fix(side, [&](int32_t i) {
    if (!(seen_[i] & bit)) seen_[i] |= bit, candidates.push_back(i);
  });
  std::erase_if(candidates, [&](int32_t i) { return flow_.side(i) == side; });
  if (candidates.empty()) return -1;
  auto rank = [&](int32_t i) {
    const int32_t layer = region_->depth[i],
                  depth = (i < region_->in_a ? a_ : b_) == own ? layer + 1 : -layer;
    return std::tuple(flow_.side(i) != Side::kFree, -depth, i);
  };
  auto before = [&](int32_t x, int32_t y) { return rank(x) < rank(y); };
  const auto taken = std::max<std::ptrdiff_t>(1, std::ssize(candidates) / 20);
  std::nth_element(candidates.begin(), candidates.begin() + taken - 1, candidates.end(), before);
  std::sort(candidates.begin(), candidates.begin() + taken, before);
  // Takes several vertices while this opens no augmenting path, otherwise a single one.
  int64_t forced = 0;
  for (std::ptrdiff_t i = 0; i < taken; ++i) {
    if (i > 0 && flow_.side(candidates[i]) != Side::kFree) break;
    forced += flow_.assign(side, candidates[i]);
  }
  return forced;
}

void PairFlow::list_moves(bool free_to_source, std::vector<Move>& moves) {
  for (int32_t i = 0; i < net_.n(); ++i) {
    const Side side = flow_.side(i);
    const bool to_a = side == Side::kSource || (side == Side::kFree && free_to_source);
    if (to_a != (i < region_->in_a)) moves.push_back({region_->vertices[i], to_a ? a_ : b_});
  }
}

}  // namespace hopbytes
