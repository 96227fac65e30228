#include "partition/coarsening/contraction.hpp"

#include <span>

#include "partition/coarsening/contracted_rows.hpp"
#include "partition/coarsening/parallel_contraction.hpp"

namespace hopbytes {

namespace {

// Writes the map and the arrays of the coarse graph with one thread.
template <class W> void contract_in_turn(const Graph<W>& g, const Clusters& clusters, Level<W>& level) {
  const UnsetVector<int32_t>& leader = clusters.leader;
  const int64_t count = clusters.count;
  int32_t next = 0;
  for (int64_t v = 0; v < g.n; ++v)
    if (leader[v] == v) level.map[v] = next++;
  for (int64_t v = 0; v < g.n; ++v) level.map[v] = level.map[leader[v]];
  CoarseMembers members;
  members.sort(level.map, 0, count, g.n, [](int64_t i) { return static_cast<int32_t>(i); });
  Graph<W>& coarse = level.graph;
  std::vector<std::make_unsigned_t<W>> sums(count, 0);  // like RowSums, all of which is used here
  coarse.own_start[count] = contract_rows(g, level.map, 0, count, members, sums.data(),
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
  coarse.sum_loads(team);
  coarse.uneven = g.uneven;
  if (g.linear_cost)
    coarse.linear_cost = std::make_shared<const LinearCost>(g.linear_cost->contracted(level.map, count));
  return level;
}

template Level<int32_t> contract(const Graph<int32_t>&, const Clusters&, Team&);
template Level<int64_t> contract(const Graph<int64_t>&, const Clusters&, Team&);

}  // namespace hopbytes
