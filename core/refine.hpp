// Improving a placement under its true distances: local search on the graph itself, or V-cycles that
// coarsen inside PEs and refine on every level.
#pragma once
#include "climb.hpp"

namespace hopbytes {

struct RefineOptions {
  int32_t cycles = 0;     // V-cycles; 0 refines the graph itself once
  int32_t coarsest = 40;  // vertices per PE where a V-cycle turns round
  SearchOptions search;
  FlowOptions flow;
};

// Communication cost, every edge once.
template <class W, class D> int64_t placement_cost(const WorkGraph<W>& g, const int32_t* pe, const D& distance) {
  int64_t total = 0;
  for (int64_t v = 0; v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
      if (g.adj[e] > v && pe[g.adj[e]] != pe[v]) total += g.weight[e] * distance(pe[v], pe[g.adj[e]]);
  return total;
}

// Refine pe in place; returns the number of moves tried. The placement gets no worse: a cycle whose
// result costs more, without having lowered the overload, is dropped.
template <class W, class D>
int64_t refine_placement(const WorkGraph<W>& g, const D& distance, std::span<const int64_t> cap, uint64_t seed,
                         const RefineOptions& options, const Control& control, std::span<int32_t> pe) {
  Rng rng(seed);
  Climb<W, D> climb(distance, cap, options.search, options.flow, control);
  std::vector<int32_t> best(pe.begin(), pe.end());
  if (options.cycles == 0) {
    climb.refine(g, best, nullptr, rng);
  }
  const int64_t target = std::max<int64_t>(2, options.coarsest * static_cast<int64_t>(cap.size()));
  const int64_t smallest = *std::min_element(cap.begin(), cap.end());
  const int64_t fair = g.total_load / std::max<int64_t>(1, target / 3);
  const int64_t max_cluster = std::max({int64_t{1}, std::min(fair, smallest / 4), average_pair(g)});
  for (int32_t cycle = 0; cycle < options.cycles && !control.hurry(); ++cycle) {
    auto levels = coarsen(g, best.data(), target, max_cluster, rng);
    std::vector<int32_t> coarse = project_down(levels, best);
    climb.refine(levels.empty() ? g : levels.back().graph, coarse, nullptr, rng);
    std::vector<int32_t> result = climb.uncoarsen(g, levels, std::move(coarse), rng);
    if (placement_cost(g, result.data(), distance) <= placement_cost(g, best.data(), distance)) best.swap(result);
  }
  std::copy(best.begin(), best.end(), pe.begin());
  return climb.moves();
}

}  // namespace hopbytes
