#include "partition/coarsening/tree_parts.hpp"

#include <numeric>

namespace hopbytes {

namespace {

class TreeParts {
 public:
  TreeParts(const AnyGraph& g, const int32_t* community, int64_t max_cluster)
      : g_(g),
        community_(community),
        max_cluster_(max_cluster),
        found_{UnsetVector<int32_t>(g.n), g.n},
        load_(g.load.copy(0, g.n)),
        degree_(g.n) {
    std::iota(found_.leader.begin(), found_.leader.end(), 0);
    for (int64_t v = 0; v < g.n; ++v) degree_[v] = static_cast<int32_t>(g.degree(v));
  }

  Clusters find() {
    contract_trees();
    contract_chains();
    for (int32_t v = 0; v < g_.n; ++v) found_.leader[v] = leader(v);
    return std::move(found_);
  }

 private:
  // The leaves in the order of their numbers, then those that become leaves.
  void contract_trees() {
    std::vector<int32_t> leaves;
    for (int32_t v = 0; v < g_.n; ++v)
      if (degree_[v] == 1) leaves.push_back(v);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const int32_t v = leaves[i];
      if (degree_[v] != 1) continue;  // It was joined by the last of its neighbours.
      int32_t u = -1;
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
        if (found_.leader[g_.adj[e]] == g_.adj[e]) u = g_.adj[e];
      if (!fits(v, u)) continue;
      join(v, u);
      if (--degree_[u] == 1) leaves.push_back(u);
    }
  }

  // Trees are gone, so the neighbours that are left are those that lead themselves.
  void contract_chains() {
    std::vector<uint8_t> in_tree(g_.n);
    for (int32_t v = 0; v < g_.n; ++v) in_tree[v] = found_.leader[v] != v;
    for (int32_t v = 0; v < g_.n; ++v) {
      if (in_tree[v] || degree_[v] != 2) continue;
      int32_t best = -1;
      int64_t heaviest = 0;
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        if (in_tree[g_.adj[e]]) continue;
        const int32_t c = leader(g_.adj[e]);
        if (c == leader(v) || !fits(leader(v), c)) continue;
        if (best < 0 || g_.weight[e] > heaviest || (g_.weight[e] == heaviest && load_[c] < load_[best]))
          best = c, heaviest = g_.weight[e];
      }
      if (best >= 0) join(leader(v), best);
    }
  }

  bool fits(int32_t v, int32_t u) const {
    return load_[v] + load_[u] <= max_cluster_ && (!community_ || community_[v] == community_[u]);
  }
  void join(int32_t v, int32_t u) {
    found_.leader[v] = u;
    load_[u] += load_[v];
    --found_.count;
  }
  int32_t leader(int32_t v) {
    UnsetVector<int32_t>& next = found_.leader;
    while (next[v] != v) v = next[v] = next[next[v]];
    return v;
  }

  const AnyGraph& g_;
  const int32_t* community_;
  int64_t max_cluster_;
  Clusters found_;
  std::vector<int64_t> load_;    // of the cluster of a leader
  std::vector<int32_t> degree_;  // neighbours that are in no tree
};

}  // namespace

Clusters cluster_tree_parts(const AnyGraph& g, const int32_t* community, int64_t max_cluster) {
  return TreeParts(g, community, max_cluster).find();
}

}  // namespace hopbytes
