// Improves a mapping under its true distances: by local search on the graph itself, or by V-cycles that
// coarsen inside PEs and refine on every level.
#pragma once
#include "uncoarsening.hpp"
#include "parallel.hpp"

namespace hopbytes {

struct RefineOptions {
  int32_t cycles = 0;  // V-cycles; 0 refines only the graph itself
  int32_t coarsest = 40;  // vertices per PE of the coarsest graph of a V-cycle
  int32_t chains = 1;  // independent sequences of cycles, of which the cheapest result is kept
  int32_t threads = 1;
  SearchOptions search;
  FlowOptions flow;
  // Mappings to recombine with, one per cycle (rows of n). A cycle contracts only vertices that
  // are together in both mappings, so that it can choose between them region by region.
  std::span<const int32_t> others;
};

// Runs one sequence of cycles on pe, in place. Returns the number of moves tried. The mapping never becomes
// worse: a cycle with a more expensive result is discarded.
template <class W, class D>
int64_t refine_chain(const WorkGraph<W>& g, const D& distance, std::span<const int64_t> max_block_weight,
                     uint64_t seed, const RefineOptions& options, const Control& control,
                     std::vector<int32_t>& pe) {
  Rng rng(seed);
  MultilevelRefinement<W, D> refinement(distance, max_block_weight, options.search, options.flow, control);
  if (options.cycles == 0) refinement.refine(g, pe, nullptr, rng);
  const int64_t target =
      std::max<int64_t>(2, options.coarsest * static_cast<int64_t>(max_block_weight.size()));
  const int64_t smallest = *std::min_element(max_block_weight.begin(), max_block_weight.end());
  const int64_t fair = g.total_load / std::max<int64_t>(1, target / 3);
  const int64_t max_cluster = std::max({int64_t{1}, std::min(fair, smallest / 4), average_pair(g)});
  for (int32_t cycle = 0; cycle < options.cycles && !control.should_stop(); ++cycle) {
    const bool alone = static_cast<size_t>((cycle + 1) * g.n) > options.others.size();
    const std::vector<int32_t> label = alone
                                           ? pe
                                           : common_refinement(pe, options.others.data() + cycle * g.n,
                                                               static_cast<int64_t>(max_block_weight.size()));
    auto levels = coarsen(g, label.data(), target, max_cluster, rng);
    std::vector<int32_t> coarse = project_to_coarsest(levels, pe);
    refinement.refine(levels.empty() ? g : levels.back().graph, coarse, nullptr, rng);
    std::vector<int32_t> result = refinement.uncoarsen(g, levels, std::move(coarse), rng);
    if (placement_cost(g, result.data(), distance) <= placement_cost(g, pe.data(), distance)) pe.swap(result);
  }
  return refinement.moves();
}

// Refines pe in place by the cheapest of several sequences. Returns the number of moves tried.
template <class W, class D>
int64_t refine_placement(const WorkGraph<W>& g, const D& distance, std::span<const int64_t> max_block_weight,
                         uint64_t seed, const RefineOptions& options, const Control& control,
                         std::span<int32_t> pe) {
  const int32_t chains = std::max(1, options.chains);
  std::vector<std::vector<int32_t>> result(chains, std::vector<int32_t>(pe.begin(), pe.end()));
  std::vector<int64_t> moves(chains, 0);
  parallel_for(chains, options.threads, [&](int64_t c) {
    moves[c] = refine_chain(g, distance, max_block_weight, derive(seed, c), options, control, result[c]);
  });
  size_t best = 0;
  for (size_t c = 1; c < result.size(); ++c)
    if (placement_cost(g, result[c].data(), distance) < placement_cost(g, result[best].data(), distance))
      best = c;
  std::copy(result[best].begin(), result[best].end(), pe.begin());
  return std::accumulate(moves.begin(), moves.end(), int64_t{0});
}

}  // namespace hopbytes
