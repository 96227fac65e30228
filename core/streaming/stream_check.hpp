// Checks of a block of a graph, and its fingerprint: whether another pass reads the same graph, and whether
// both directions of every edge are there, without keeping any of it.
#pragma once
#include <algorithm>
#include <cstdint>

#include "streaming/stream_tree.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Returns the first arc whose target does not exist, -1 if there is none. Adds to sums: 0: a word per arc
// (the same for both directions), 1: the same words, with the sign of the direction, 2: a word per load, 3:
// arcs of vertices to themselves. The second sum is 0 if every arc has its reverse with the same weight;
// otherwise it is 0 with a probability of about 2^-64.
inline int64_t stream_check(const StreamBlock& block, int64_t n, Out<uint64_t> sums) {
  for (int64_t row = 0; row < block.rows(); ++row) {
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

}  // namespace hopbytes
