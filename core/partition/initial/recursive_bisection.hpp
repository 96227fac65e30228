// Initial partitions of small graphs: recursive bisection by greedy graph growing, each bisection refined by
// FM.
#pragma once
#include "partition/group_members.hpp"
#include "partition/initial/graph_growing.hpp"
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"
#include "partition/score.hpp"
#include "util/portable_math.hpp"

namespace hopbytes {

// Returns the best of several grown and FM-refined bisections with the given maximum block weights. Vertices
// with a side in `home` that is not negative, if there is any, are fixed to it.
template <class W>
std::vector<int32_t> bisect(const Graph<W>& g, int64_t target, const int64_t (&max_block_weight)[2],
                            const std::vector<int32_t>& home, int32_t repetitions, Rng& rng,
                            const Control& control) {
  std::vector<int32_t> part(g.n, 1), best(g.n, 1);
  const std::unique_ptr<Graph<W>> view = with_fixed(g, home);
  Score best_score;
  GraphGrowing<W> growing;
  growing.attach(g);
  Partition<W> partition({}, max_block_weight);
  RefinerChain<W> refiners;
  refiners.add(std::make_unique<Rebalance<W>>());
  refiners.add(std::make_unique<LocalFm<W>>(FmContext{}));
  for (int32_t t = 0; t < repetitions && (t == 0 || !control.should_stop()); ++t) {
    std::fill(part.begin(), part.end(), 1);
    const auto is_taken = [&](int32_t v) { return part[v] == 0 || (!home.empty() && home[v] >= 0); };
    const auto start = [&, cursor = -1]() mutable {
      const auto v = static_cast<int32_t>(rng.below(g.n));
      if (!is_taken(v)) return v;
      // With thousands of components, most random draws would hit grown vertices, so one cursor passes over
      // all vertices once instead.
      if (cursor < 0) cursor = v;
      while (is_taken(cursor)) cursor = cursor + 1 == g.n ? 0 : cursor + 1;
      return cursor;
    };
    growing.grow(part, 0, target, start, home);
    partition.assign(*view, std::move(part));
    refiners.refine(partition, rng, control);
    part = partition.take_blocks();
    const Score s =
        score(g, part.data(), std::span<const int64_t>(max_block_weight, 2), Team::alone(), false);
    if (s < best_score) best_score = s, best = part;
    control.record_work(g.arcs());
  }
  return best;
}

// Returns blocks with the given maximum weights. Every bisection is the best of `repetitions` grown ones.
// Vertices with a block in `home` that is not negative, if there is any, are fixed to it.
template <class W>
std::vector<int32_t> recursive_bisection(const Graph<W>& g, std::span<const int64_t> max_block_weight,
                                         const std::vector<int32_t>& home, int32_t repetitions, Rng& rng,
                                         const Control& control) {
  std::vector<int32_t> block(g.n, 0);
  const int64_t a = static_cast<int64_t>(max_block_weight.size());
  if (a == 1 || g.n == 0) return block;
  const int64_t left = a / 2;
  int64_t max_left = 0, max_all = 0;
  for (int64_t b = 0; b < a; ++b)
    max_all += max_block_weight[b], max_left += b < left ? max_block_weight[b] : 0;
  const int64_t max_right = max_all - max_left;
  // The load is divided in proportion to the maximum block weights. Each side gets a part of the slack, so
  // that some is left for deeper bisections.
  const double share = max_all ? static_cast<double>(max_left) / static_cast<double>(max_all) : 0.5;
  const int64_t target = static_cast<int64_t>(std::llround(static_cast<double>(g.total_load) * share));
  const double depth = static_cast<double>(std::max<int64_t>(1, ceil_log2(a)));
  auto loosened = [&](int64_t aim, int64_t limit) {
    return std::max(aim,
                    std::min(limit, aim + static_cast<int64_t>(static_cast<double>(limit - aim) / depth)));
  };
  const int64_t max_block_weights[2] = {loosened(target, max_left),
                                        loosened(g.total_load - target, max_right)};
  std::vector<int32_t> home_side = home;
  for (int32_t& b : home_side) b = b < 0 ? -1 : b >= left;
  const std::vector<int32_t> side =
      bisect(g, target, max_block_weights, home_side, repetitions, rng, control);
  const GroupMembers members(side, 2);
  for (int32_t s = 0; s < 2; ++s) {
    const int32_t first = s == 0 ? 0 : static_cast<int32_t>(left);
    const auto weights = s == 0 ? max_block_weight.first(left) : max_block_weight.subspan(left);
    const Graph<W> sub = induced(g, members, side, s);
    std::vector<int32_t> inner(home.empty() ? 0 : sub.n);
    for (size_t i = 0; i < inner.size(); ++i) {
      const int32_t b = home[members.vertex(s, static_cast<int64_t>(i))];
      inner[i] = b < 0 ? -1 : b - first;
    }
    members.number(s, first, recursive_bisection(sub, weights, inner, repetitions, rng, control), block);
  }
  return block;
}

}  // namespace hopbytes
