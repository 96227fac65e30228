// A sketch of a graph that arrives in blocks of vertices: clusters of vertices, and the weight between
// clusters, summed in a hash table. Both are arrays of the caller, who contracts the sketch when the table is
// full.
#pragma once
#include "streaming/stream_tree.hpp"
#include "util/rng.hpp"
#include "util/sparse_sums.hpp"

namespace hopbytes {

// Checks a block of a graph and adds to its fingerprint: whether another pass reads the same graph, and
// whether both directions of every edge are there, without keeping any of it. Returns the first arc whose
// target does not exist, -1 if there is none. Adds to sums: 0: a word per arc (the same for both
// directions), 1: the same words, with the sign of the direction, 2: a word per load, 3: arcs of vertices to
// themselves. The second sum is 0 if every arc has its reverse with the same weight; otherwise it is 0 with
// a probability of about 2^-64.
inline int64_t stream_check(const StreamBlock& block, int64_t n, Out<uint64_t> sums) {
  expect(sums.size() == 4, "sums");
  expect_block(block, n);
  for (int64_t row = 0; row < block.n(); ++row) {
    const int64_t u = block.first + row;
    if (!block.load.empty())
      sums[2] += mixed(static_cast<uint64_t>(u) * kGolden + mixed(static_cast<uint64_t>(block.load[row])));
    for (int64_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) {
      const int64_t v = block.target[e];
      if (v < 0 || v >= n) return e;
      if (u == v) {
        ++sums[3];
        continue;
      }
      const auto smaller = static_cast<uint64_t>(std::min(u, v));
      const auto larger = static_cast<uint64_t>(std::max(u, v));
      const uint64_t pair = smaller << 32 | larger;
      const uint64_t word = mixed(pair + static_cast<uint64_t>(block.w(e)) * kGolden);
      sums[0] += word;
      sums[1] += u < v ? word : ~word + 1;
    }
  }
  return -1;
}

struct StreamSketch {
  Out<int32_t> cluster;  // per vertex of the graph: a number from 0 to n-1; at first its own
  Out<int64_t> weight;  // per cluster: its load
  Out<uint64_t> key;  // two clusters, the larger one in the upper half; 0: a free entry. A power of two long
  Out<int64_t> value;  // the weight between the two
  Out<int64_t> pairs;  // one number: entries of the table
  int64_t heaviest = 0;  // largest load of a cluster of several vertices
};

inline void add_pair(const StreamSketch& sketch, int32_t a, int32_t b, int64_t w) {
  if (a == b) return;
  const uint64_t key = static_cast<uint64_t>(std::max(a, b)) << 32 | static_cast<uint64_t>(std::min(a, b));
  const uint64_t mask = sketch.key.size() - 1;
  uint64_t at = key * kGolden >> (64 - std::countr_zero(sketch.key.size()));  // the upper bits of the product
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

inline void expect_sketch(const StreamSketch& sketch) {
  const bool power_of_two = (sketch.key.size() & (sketch.key.size() - 1)) == 0;
  expect(sketch.key.size() == sketch.value.size() && sketch.key.size() >= 16 && power_of_two &&
             sketch.pairs.size() == 1 && sketch.weight.size() == sketch.cluster.size(),
         "arrays of a sketch");
}

// The cluster with the heaviest connection that has room for a vertex; of equals the lighter one, then the
// one that came first. Neighbours that have not come yet attract as well, so that no order of vertices is
// bad.
inline int32_t best_cluster(const StreamSketch& sketch, const SparseSums& near, int32_t own, int64_t load) {
  int32_t best = own;
  int64_t most = near.of(own);
  for (const auto& [cluster, weight] : near.entries()) {
    if (cluster == own || sketch.weight[cluster] + load > sketch.heaviest) continue;
    const int64_t held = sketch.weight[best] - (best == own ? load : 0);
    if (weight > most || (weight == most && sketch.weight[cluster] < held)) best = cluster, most = weight;
  }
  return best;
}

// Adds the vertices of a block from `row` on; returns the row at which the table was full, or the number of
// rows. A vertex keeps its cluster from then on, so that an edge can be counted with its later vertex.
inline int64_t stream_cluster(const StreamBlock& block, StreamSketch sketch, int64_t heaviest, int64_t row) {
  expect_sketch(sketch);
  expect_numbers(block, sketch.cluster, 0, std::ssize(sketch.cluster), "clusters");
  expect(row >= 0 && row <= block.n(), "a row and a block");
  sketch.heaviest = heaviest;
  SparseSums near;
  for (; row < block.n(); ++row) {
    const int64_t vertex = block.first + row;
    const int64_t begin = block.indptr[row], end = block.indptr[row + 1];
    if (sketch.pairs[0] + (end - begin) > usable_pairs(sketch)) return row;
    const int64_t load = block.load.empty() ? 1 : block.load[row];
    near.start(end - begin);
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
  expect_sketch(sketch);
  expect(
      a.size() == b.size() && a.size() == w.size() && std::ssize(a) <= usable_pairs(sketch) - sketch.pairs[0],
      "pairs");
  for (size_t i = 0; i < a.size(); ++i) add_pair(sketch, a[i], b[i], w[i]);
}

}  // namespace hopbytes
