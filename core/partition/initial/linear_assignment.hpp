// Linear assignment costs of whole blocks: which child each block becomes, and vertices off forbidden blocks.
#pragma once
#include "partition/score.hpp"

namespace hopbytes {

// Returns the child that each block becomes so that the sum of cost[block * k + child] is least (Hungarian
// method with shortest augmenting paths: Jonker, Volgenant 1987). O(k^3).
inline std::vector<int32_t> best_assignment(const std::vector<double>& cost, int32_t k) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  std::vector<double> row_price(k + 1, 0), column_price(k + 1, 0);
  std::vector<int32_t> row_of(k + 1, 0), before(k + 1, 0);
  for (int32_t row = 1; row <= k; ++row) {
    row_of[0] = row;
    int32_t column = 0;
    std::vector<double> least(k + 1, endless);
    std::vector<uint8_t> used(k + 1, 0);
    do {
      used[column] = 1;
      const int32_t current = row_of[column];
      double step = endless;
      int32_t next = 0;
      for (int32_t j = 1; j <= k; ++j) {
        if (used[j]) continue;
        const double reduced =
            cost[(current - 1) * static_cast<int64_t>(k) + j - 1] - row_price[current] - column_price[j];
        if (reduced < least[j]) least[j] = reduced, before[j] = column;
        if (least[j] < step) step = least[j], next = j;
      }
      for (int32_t j = 0; j <= k; ++j) {
        if (used[j]) row_price[row_of[j]] += step, column_price[j] -= step;
        else least[j] -= step;
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = before[column]) row_of[column] = row_of[before[column]];
  }
  std::vector<int32_t> child(k);
  for (int32_t j = 1; j <= k; ++j) child[row_of[j] - 1] = j - 1;
  return child;
}

// Relabels the blocks so that the linear assignment costs are least. A forbidden block costs as much as all
// edges together. A child that is too small for a block costs in proportion to the overload.
template <class W>
void relabel_blocks(const Graph<W>& g, std::span<const int64_t> max_block_weight, int32_t* part) {
  const LinearCost& linear_cost = *g.linear_cost;
  const auto k = static_cast<int32_t>(max_block_weight.size());
  const std::vector<int64_t> load = block_loads(g, k, part);
  double edges = 1;
  for (int64_t e = 0; e < g.arcs(); ++e) edges += static_cast<double>(g.weight[e]);
  const double per_load =
      edges * static_cast<double>(g.n) / static_cast<double>(std::max<int64_t>(1, g.total_load));
  const auto bounded = [&](int64_t cost) {
    return cost >= LinearCost::kForbidden ? edges : static_cast<double>(cost);
  };
  std::vector<double> cost(static_cast<size_t>(k) * k, 0.0);
  for (int32_t b = 0; b < k; ++b)
    for (int32_t c = 0; c < k; ++c)
      cost[static_cast<size_t>(b) * k + c] =
          per_load * static_cast<double>(std::max<int64_t>(0, load[b] - max_block_weight[c]));
  for (int64_t v = 0; v < g.n; ++v) {
    double* row = cost.data() + static_cast<size_t>(part[v]) * k;
    const double rest = bounded(linear_cost.rest[v]);
    if (rest != 0)
      for (int32_t c = 0; c < k; ++c) row[c] += rest;
    for (int64_t e = linear_cost.start[v]; e < linear_cost.start[v + 1]; ++e)
      row[linear_cost.block[e]] += bounded(linear_cost.cost[e]) - rest;
  }
  const std::vector<int32_t> child = best_assignment(cost, k);
  for (int64_t v = 0; v < g.n; ++v) part[v] = child[part[v]];
}

// Moves vertices off forbidden blocks: to the cheapest permitted block, of equal ones to the one with the
// most room.
template <class W>
void evict_forbidden(const Graph<W>& g, std::span<const int64_t> max_block_weight, int32_t* part) {
  const LinearCost& linear_cost = *g.linear_cost;
  const auto k = static_cast<int32_t>(max_block_weight.size());
  std::vector<int64_t> load = block_loads(g, k, part);
  const auto better = [&](int64_t v, int32_t b, int32_t best) {
    const int64_t here = linear_cost(v, b), there = linear_cost(v, best);
    return here < there ||
           (here == there && max_block_weight[b] - load[b] > max_block_weight[best] - load[best]);
  };
  for (int64_t v = 0; v < g.n; ++v) {
    if (linear_cost.allows(v, part[v])) continue;
    int32_t best = -1;
    for (int32_t b = 0; b < k; ++b)
      if (linear_cost.allows(v, b) && (best < 0 || better(v, b, best))) best = b;
    if (best < 0) continue;
    load[part[v]] -= g.load[v];
    load[best] += g.load[v];
    part[v] = best;
  }
}

// Prepares a partition that was computed without linear assignment costs for refinement with them.
template <class W>
void assign_linear_costs(const Graph<W>& g, std::span<const int64_t> max_block_weight, int32_t* part) {
  constexpr size_t most = 512;  // Matching blocks to children takes the cube of their number.
  if (max_block_weight.size() <= most) relabel_blocks(g, max_block_weight, part);
  evict_forbidden(g, max_block_weight, part);
}

}  // namespace hopbytes
