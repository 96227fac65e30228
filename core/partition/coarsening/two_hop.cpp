#include "partition/coarsening/two_hop.hpp"

#include "util/sorting.hpp"

namespace hopbytes {

template <class W>
void match_two_hop(const Graph<W>& g, const int32_t* community, int64_t max_cluster,
                   const std::vector<int32_t>& order, const std::vector<uint8_t>& matched,
                   Clusters& clusters) {
  std::vector<int32_t> waiting(g.n, -1), isolated;
  auto may_join = [&](int32_t v, int32_t other) {
    return (!community || community[other] == community[v]) && g.load[other] + g.load[v] <= max_cluster;
  };
  auto join = [&](int32_t v, int32_t other) {
    clusters.leader[v] = other;
    --clusters.count;
  };
  for (int32_t v : order) {
    if (matched[v]) continue;
    double best = -1;
    int32_t preferred = -1;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const double r = rating(static_cast<double>(g.weight[e]), g.load[g.adj[e]]);
      if (r > best) best = r, preferred = g.adj[e];
    }
    if (preferred < 0) {
      isolated.push_back(v);
      continue;
    }
    int32_t& other = waiting[preferred];
    if (other >= 0 && may_join(v, other)) {
      join(v, other);
      other = -1;
    } else {
      other = v;
    }
  }
  if (community) sort_by_key(isolated, community);
  for (size_t i = 1; i < isolated.size(); ++i) {
    const int32_t other = isolated[i - 1], v = isolated[i];
    if (clusters.leader[other] == other && may_join(v, other)) join(v, other);
  }
}

template void match_two_hop(const Graph<int32_t>&, const int32_t*, int64_t, const std::vector<int32_t>&,
                            const std::vector<uint8_t>&, Clusters&);
template void match_two_hop(const Graph<int64_t>&, const int32_t*, int64_t, const std::vector<int32_t>&,
                            const std::vector<uint8_t>&, Clusters&);

}  // namespace hopbytes
