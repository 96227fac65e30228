#include "partition/coarsening/contraction.hpp"

namespace hopbytes {

template <class W> Level<W> contract(const Graph<W>& g, const Clusters& clusters) {
  const std::vector<int32_t>& leader = clusters.leader;
  const int64_t count = clusters.count;
  Level<W> level;
  level.map.resize(g.n);
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
  coarse.allocate(count, g.arcs());
  std::vector<int64_t> place(count, -1);  // position of the arc to a coarse vertex in the present row
  int64_t filled = 0;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t row = filled;
    coarse.own_start[c] = row;
    coarse.own_load[c] = 0;
    for (int64_t i = first[c]; i < first[c + 1]; ++i) {
      const int32_t v = members[i];
      coarse.own_load[c] += g.load[v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t t = level.map[g.adj[e]];
        if (t == c) continue;
        // Branch-free, because it is unpredictable whether the row already has an arc to t.
        coarse.own_weight[filled] = 0;
        const bool fresh = place[t] < row;
        const int64_t at = fresh ? filled : place[t];
        place[t] = at;
        coarse.own_adj[at] = t;
        coarse.own_weight[at] += g.weight[e];
        filled += fresh;
      }
    }
  }
  coarse.own_start[count] = filled;
  coarse.sum_loads();
  coarse.uneven = g.uneven;
  if (g.linear_cost)
    coarse.linear_cost = std::make_shared<const LinearCost>(g.linear_cost->contracted(level.map, count));
  return level;
}

template Level<int32_t> contract(const Graph<int32_t>&, const Clusters&);
template Level<int64_t> contract(const Graph<int64_t>&, const Clusters&);

}  // namespace hopbytes
