#include "partition/initial/recursive_bisection.hpp"

#include <cmath>
#include <numeric>

#include "partition/group_members.hpp"
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"
#include "partition/score.hpp"
#include "util/portable_math.hpp"

namespace hopbytes {

namespace {

// Greedy graph growing: grows block 0 from a random vertex. It always takes the vertex with the largest key
// until the block weighs about `target`, and restarts with a random vertex when a component ends.
template <class W>
void grow(const Graph<W>& g, int64_t target, const std::vector<int64_t>& degree, std::vector<int32_t>& part,
          VertexHeap& heap, Rng& rng) {
  std::vector<int64_t> key(g.n);  // weight into the block minus weight out of it
  for (int64_t v = 0; v < g.n; ++v) key[v] = -degree[v];
  std::fill(part.begin(), part.end(), 1);
  heap.resize(g.n);
  int64_t grown = 0;
  int64_t untouched = g.n;
  int32_t cursor = -1;
  while (grown < target && untouched > 0) {
    if (heap.empty()) {
      int32_t v = static_cast<int32_t>(rng.below(g.n));
      if (part[v] == 0) {
        // With thousands of components, most random draws would hit grown vertices, so one cursor passes over
        // all vertices once instead.
        if (cursor < 0) cursor = v;
        while (part[cursor] == 0) cursor = cursor + 1 == g.n ? 0 : cursor + 1;
        v = cursor;
      }
      heap.push(v, key[v]);
    }
    const int32_t v = heap.top();
    heap.pop();
    // The vertex that crosses the target is taken only if the load comes nearer to the target.
    if (grown + g.load[v] - target > target - grown && grown > 0) {
      if (heap.empty()) break;
      continue;
    }
    part[v] = 0;
    --untouched;
    grown += g.load[v];
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (part[u] == 0) continue;
      key[u] += g.weight[e];
      key[u] += g.weight[e];  // added twice, because 2 w may exceed an int64
      if (heap.contains(u)) heap.change(u, key[u]);
      else heap.push(u, key[u]);
    }
  }
  heap.clear();
}

// Returns the best of several grown and FM-refined bisections with the given maximum block weights.
template <class W>
std::vector<int32_t> bisect(const Graph<W>& g, int64_t target, const int64_t (&max_block_weight)[2],
                            int32_t repetitions, Rng& rng, const Control& control) {
  std::vector<int32_t> part(g.n, 1), best(g.n, 1);
  Score best_score;
  std::vector<int64_t> degree(g.n, 0);
  for (int64_t v = 0; v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) degree[v] += g.weight[e];
  VertexHeap heap;
  Partition<W> partition({}, max_block_weight);
  partition.ignore_linear_costs();
  RefinerChain<W> refiners;
  refiners.add(std::make_unique<Rebalance<W>>());
  refiners.add(std::make_unique<LocalFm<W>>(FmContext{}));
  for (int32_t t = 0; t < repetitions && (t == 0 || !control.should_stop()); ++t) {
    grow(g, target, degree, part, heap, rng);
    partition.assign(g, std::move(part));
    refiners.refine(partition, rng, control);
    part = partition.take_blocks();
    const Score s = score(g, part.data(), std::span<const int64_t>(max_block_weight, 2), 1, false);
    if (s < best_score) best_score = s, best = part;
    control.record_work(g.arcs());
  }
  return best;
}

// Recursive bisection into blocks first, first + 1, ... with the given maximum weights; writes part[vertex].
template <class W>
void bisect_recursively(const Graph<W>& g, std::span<const int64_t> max_block_weight, int32_t first,
                        int32_t repetitions, Rng& rng, const Control& control,
                        const std::vector<int32_t>& vertex, int32_t* part) {
  const int64_t a = static_cast<int64_t>(max_block_weight.size());
  if (a == 1 || g.n == 0) {
    for (int64_t v = 0; v < g.n; ++v) part[vertex[v]] = first;
    return;
  }
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
  const std::vector<int32_t> side = bisect(g, target, max_block_weights, repetitions, rng, control);
  const GroupMembers members(side, 2);
  for (int32_t s = 0; s < 2; ++s) {
    const Graph<W> sub = induced(g, members, side, s);
    std::vector<int32_t> global;
    for (const int32_t v : members.of(s)) global.push_back(vertex[v]);
    bisect_recursively(sub, s == 0 ? max_block_weight.first(left) : max_block_weight.subspan(left),
                       s == 0 ? first : first + static_cast<int32_t>(left), repetitions, rng, control, global,
                       part);
  }
}

}  // namespace

template <class W>
std::vector<int32_t> recursive_bisection(const Graph<W>& g, std::span<const int64_t> max_block_weight,
                                         int32_t repetitions, Rng& rng, const Control& control) {
  std::vector<int32_t> block(g.n), all(g.n);
  std::iota(all.begin(), all.end(), 0);
  bisect_recursively(g, max_block_weight, 0, repetitions, rng, control, all, block.data());
  return block;
}

template std::vector<int32_t> recursive_bisection(const Graph<int32_t>&, std::span<const int64_t>, int32_t,
                                                  Rng&, const Control&);
template std::vector<int32_t> recursive_bisection(const Graph<int64_t>&, std::span<const int64_t>, int32_t,
                                                  Rng&, const Control&);

}  // namespace hopbytes
