#include "partition/refinement/pair_flow.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hopbytes {

PairFlow::Result PairFlow::improve(const std::function<void(PairFlow&)>& build,
                                   const std::vector<int32_t>& boundary, int32_t a, int32_t b,
                                   int64_t most_work) {
  a_ = a, b_ = b, work_left_ = most_work;
  moved_.clear();
  int64_t gain = 0;
  if (collect_region(boundary)) {
    build(*this);
    if (!is_minimum_cut() && !stop()) {
      open_cut();
      gain = solve();
    }
  }
  for (int32_t v : region_) local_[v] = -1;
  return {gain, most_work - work_left_, std::move(moved_)};
}

int64_t PairFlow::side_limit(int32_t own, int32_t other) const {
  const int64_t room = max_block_weight_[other] - load_[other];
  const int64_t slack =
      std::max<int64_t>(0, (max_block_weight_[a_] - load_[a_] + max_block_weight_[b_] - load_[b_]) / 2);
  const int64_t most = load_[own] - 1 - load_[own] / 4;
  const double more = (options_.width - 1) * static_cast<double>(slack);
  return room >= most || more >= static_cast<double>(most - room) ? most : room + static_cast<int64_t>(more);
}

bool PairFlow::collect_region(const std::vector<int32_t>& boundary) {
  region_.clear();
  depth_.clear();
  for (const int32_t own : {a_, b_}) {
    const int64_t limit = side_limit(own, own == a_ ? b_ : a_);
    int64_t load = 0;
    const size_t begin = region_.size();
    auto add = [&](int32_t v, int32_t depth) {
      if (g_.linear_cost && !g_.linear_cost->allows(v, own == a_ ? b_ : a_)) return;
      if (local_[v] >= 0 || block(v) != own || load + g_.load[v] > limit ||
          static_cast<int64_t>(region_.size() - begin) >= options_.max_region)
        return;
      local_[v] = static_cast<int32_t>(region_.size());
      region_.push_back(v);
      depth_.push_back(depth);
      load += g_.load[v];
    };
    for (int32_t v : boundary) add(v, 0);
    for (size_t i = begin; i < region_.size() && depth_[i] < kDeepest; ++i)
      for (int64_t e = g_.start[region_[i]]; e < g_.start[region_[i] + 1]; ++e) add(g_.adj[e], depth_[i] + 1);
    if (own == a_) in_a_ = static_cast<int32_t>(region_.size());
  }
  int64_t arcs = 0;
  for (int32_t v : region_) arcs += g_.degree(v);
  work_left_ -= 2 * (std::ssize(region_) + arcs) + std::ssize(boundary);
  return !region_.empty() && arcs <= std::numeric_limits<int32_t>::max();
}

bool PairFlow::is_minimum_cut() {
  const bool fits_b = certificate_.route_excess(in_a_, net_.n(), false);
  const bool fits_a = certificate_.route_excess(0, in_a_, true);
  return fits_a && fits_b;
}

void PairFlow::open_cut() {
  for (const auto& [arc, capacity] : back_) net_[arc].residual = capacity;
  present_ = 0;
  for (int32_t i = 0; i < net_.n(); ++i)
    present_ += std::max<int64_t>(0, i < in_a_ ? -net_.terminal(i) : net_.terminal(i));
  flow_.start();
  for (auto& candidates : candidates_) candidates.clear();
  seen_.assign(net_.n(), 0);
}

int64_t PairFlow::solve() {
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
      apply(to_source);
      return present_ - flow;
    }
    if (load_s > max_block_weight_[a_] || load_t > max_block_weight_[b_] || turn > 200) return 0;
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
    const int32_t depth = part_[region_[i]] == own ? depth_[i] + 1 : -depth_[i];
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

void PairFlow::apply(bool free_to_source) {
  for (int32_t i = 0; i < static_cast<int32_t>(region_.size()); ++i) {
    const int32_t v = region_[i];
    const Side side = flow_.side(i);
    const int32_t to = side == Side::kSource || (side == Side::kFree && free_to_source) ? a_ : b_;
    if (to == part_[v]) continue;
    load_[part_[v]] -= g_.load[v];
    load_[to] += g_.load[v];
    shared_store(part_[v], to);
    moved_.push_back(v);
  }
}

}  // namespace hopbytes
