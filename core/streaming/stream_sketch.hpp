// A sketch of a graph that arrives in blocks of vertices: clusters of vertices, and the weight between
// clusters, summed in a hash table. Both are arrays of the caller, who contracts the sketch when the table is
// full.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "streaming/stream_check.hpp"
#include "streaming/stream_tree.hpp"

namespace hopbytes {

struct StreamSketch {
  Out<int32_t> cluster;  // per vertex of the graph: a number from 0 to n-1; at first its own
  Out<int64_t> weight;  // per cluster: its load
  Out<uint64_t> key;  // two clusters, the larger one in the upper half; 0: a free entry. A power of two long
  Out<int64_t> value;  // the weight between the two
  Out<int64_t> pairs;  // one number: entries of the table
  int64_t heaviest = 0;  // largest load of a cluster of several vertices
};

// Fibonacci hashing: the upper bits of a product, of which a table of 2^bits entries uses so many.
inline uint64_t spread_bits(uint64_t key, int bits) { return key * 0x9E3779B97F4A7C15u >> (64 - bits); }

inline void add_pair(const StreamSketch& sketch, int32_t a, int32_t b, int64_t w) {
  if (a == b) return;
  const uint64_t key = static_cast<uint64_t>(std::max(a, b)) << 32 | static_cast<uint64_t>(std::min(a, b));
  const uint64_t mask = sketch.key.size() - 1;
  uint64_t at = spread_bits(key, std::countr_zero(sketch.key.size()));
  while (sketch.key[at] != 0 && sketch.key[at] != key) at = (at + 1) & mask;
  if (sketch.key[at] == 0) {
    sketch.key[at] = key;
    sketch.value[at] = 0;
    ++sketch.pairs[0];
  }
  sketch.value[at] += w;
}

// Entries of the table that may be used: a fuller one is slow to search.
inline int64_t usable_pairs(const StreamSketch& sketch) {
  return static_cast<int64_t>(sketch.key.size() / 4 * 3);
}

// Sums of weights by cluster for one vertex at a time, in a table as large as its degree requires.
class WeightByCluster {
 public:
  void restart(int64_t degree) {
    for (uint32_t at : used_) cluster_[at] = -1;
    used_.clear();
    while (cluster_.size() < 2 * static_cast<size_t>(degree) || bits_ == 0) {
      bits_ = bits_ == 0 ? 4 : bits_ + 1;
      const size_t size = size_t{1} << bits_;
      cluster_.assign(size, -1);
      weight_.assign(size, 0);
    }
  }
  void add(int32_t cluster, int64_t w) {
    // Consecutive neighbours often are in one cluster.
    const uint32_t at = cluster_[last_] == cluster ? last_ : place(cluster);
    last_ = at;
    if (cluster_[at] < 0) {
      cluster_[at] = cluster;
      weight_[at] = 0;
      used_.push_back(at);
    }
    weight_[at] += w;
  }
  int64_t of(int32_t cluster) const {
    const uint32_t at = place(cluster);
    return cluster_[at] < 0 ? 0 : weight_[at];
  }
  // Calls visit(cluster, weight) in the order in which clusters came.
  template <class Visit> void each(Visit visit) const {
    for (uint32_t at : used_) visit(cluster_[at], weight_[at]);
  }

 private:
  uint32_t place(int32_t cluster) const {
    const uint32_t mask = static_cast<uint32_t>(cluster_.size()) - 1;
    uint32_t at = static_cast<uint32_t>(spread_bits(static_cast<uint64_t>(cluster), bits_));
    while (cluster_[at] >= 0 && cluster_[at] != cluster) at = (at + 1) & mask;
    return at;
  }
  std::vector<int32_t> cluster_;
  std::vector<int64_t> weight_;
  std::vector<uint32_t> used_;
  uint32_t last_ = 0;
  int bits_ = 0;
};

// The cluster with the heaviest connection that has room for a vertex; of equals the lighter one, then the
// one that came first. Neighbours that have not come yet attract as well, so that no order of vertices is
// bad.
inline int32_t best_cluster(const StreamSketch& sketch, const WeightByCluster& near, int32_t own,
                            int64_t load) {
  int32_t best = own;
  int64_t most = near.of(own);
  near.each([&](int32_t cluster, int64_t weight) {
    if (cluster == own || sketch.weight[cluster] + load > sketch.heaviest) return;
    const int64_t held = sketch.weight[best] - (best == own ? load : 0);
    if (weight > most || (weight == most && sketch.weight[cluster] < held)) {
      best = cluster;
      most = weight;
    }
  });
  return best;
}

// Adds the vertices of a block from `row` on; returns the row at which the table was full, or the number of
// rows. A vertex keeps its cluster from then on, so that an edge can be counted with its later vertex.
inline int64_t stream_cluster(const StreamBlock& block, const StreamSketch& sketch, int64_t row) {
  WeightByCluster near;
  for (; row < block.rows(); ++row) {
    const int64_t vertex = block.first + row;
    const int64_t begin = block.indptr[row], end = block.indptr[row + 1];
    if (sketch.pairs[0] + (end - begin) > usable_pairs(sketch)) return row;
    const int64_t load = block.load.empty() ? 1 : block.load[row];
    near.restart(end - begin);
    for (int64_t e = begin; e < end; ++e)
      if (block.target[e] != vertex && block.w(e) > 0) near.add(sketch.cluster[block.target[e]], block.w(e));
    const int32_t own = sketch.cluster[vertex];
    const int32_t best = best_cluster(sketch, near, own, load);
    sketch.weight[own] -= load;
    sketch.weight[best] += load;
    sketch.cluster[vertex] = best;
    int32_t other = best;
    int64_t sum = 0;
    for (int64_t e = begin; e < end; ++e) {
      if (block.target[e] >= vertex || block.w(e) <= 0) continue;
      const int32_t cluster = sketch.cluster[block.target[e]];
      if (cluster != other) {
        add_pair(sketch, best, other, sum);
        other = cluster;
        sum = 0;
      }
      sum += block.w(e);
    }
    add_pair(sketch, best, other, sum);
  }
  return row;
}

// Adds pairs of clusters, which fit.
inline void stream_pairs(const StreamSketch& sketch, In<int32_t> a, In<int32_t> b, In<int64_t> w) {
  for (size_t i = 0; i < a.size(); ++i) add_pair(sketch, a[i], b[i], w[i]);
}

}  // namespace hopbytes
