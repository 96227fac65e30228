#include "partition/coarsening/contraction.hpp"

#include <span>

#include "partition/coarsening/contracted_rows.hpp"
#include "partition/coarsening/parallel_contraction.hpp"

namespace hopbytes {

namespace {

// Writes the map and the arrays of the coarse graph with one thread.
template <class W> void contract_in_turn(const Graph<W>& g, const Clusters& clusters, Level<W>& level) {
  const std::vector<int32_t>& leader = clusters.leader;
  const int64_t count = clusters.count;
  int32_t next = 0;
  for (int64_t v = 0; v < g.n; ++v)
    if (leader[v] == v) level.map[v] = next++;
  std::vector<int64_t> first(count + 1, 0);
  for (int64_t v = 0; v < g.n; ++v) ++first[(level.map[v] = level.map[leader[v]]) + 1];
  for (int64_t c = 0; c < count; ++c) first[c + 1] += first[c];
  std::vector<int32_t> members(g.n);
  {
    std::vector<int64_t> fill(first.begin(), first.end() - 1);
    for (int32_t v = 0; v < g.n; ++v) members[fill[level.map[v]]++] = v;
  }
  Graph<W>& coarse = level.graph;
  std::vector<W> sum(count, -1);  // weight of the arcs from the present row to a coarse vertex
  const auto members_of = [&](int64_t c) {
    return std::span<const int32_t>(members.data() + first[c], members.data() + first[c + 1]);
  };
  coarse.own_start[count] = contract_rows(g, level.map, 0, count, members_of, sum.data(),
                                          ContractedRows<W>{coarse.own_start.data(), coarse.own_load.data(),
                                                            coarse.own_adj.data(), coarse.own_weight.data()});
}

}  // namespace

template <class W> Level<W> contract(const Graph<W>& g, const Clusters& clusters, Team& team) {
  const int64_t count = clusters.count;
  Level<W> level;
  level.map.resize(g.n);
  Graph<W>& coarse = level.graph;
  coarse.allocate(count, g.arcs());
  if (team.threads() == 1) {
    contract_in_turn(g, clusters, level);
  } else {
    number_clusters(clusters, team, level.map);
    const auto size = [](int64_t entries) { return static_cast<size_t>(entries); };
    contract_in_parallel(g, level.map, count, team,
                         CoarseArrays<W>{{coarse.own_start.data(), size(count + 1)},
                                         {coarse.own_adj.data(), size(g.arcs())},
                                         {coarse.own_weight.data(), size(g.arcs())},
                                         {coarse.own_load.data(), size(count)}});
  }
  coarse.sum_loads();
  coarse.uneven = g.uneven;
  if (g.linear_cost)
    coarse.linear_cost = std::make_shared<const LinearCost>(g.linear_cost->contracted(level.map, count));
  return level;
}

template Level<int32_t> contract(const Graph<int32_t>&, const Clusters&, Team&);
template Level<int64_t> contract(const Graph<int64_t>&, const Clusters&, Team&);

}  // namespace hopbytes
