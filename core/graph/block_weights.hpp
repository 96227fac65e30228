// The weight of arcs between the blocks of a partition.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/csr.hpp"
#include "graph/row_ranges.hpp"

namespace hopbytes {

// Adds the weight of the arcs from block a to another block b to weight[a * blocks + b], and sets that entry
// of `seen` if there is such an arc, even without weight. Every part of the rows adds to a table of its own;
// there are only as many parts as tables are no larger together than one entry per arc.
inline void block_weights(const Csr& g, In<int32_t> block, int64_t blocks, Team& team, Out<int64_t> weight,
                          Out<uint8_t> seen) {
  const auto entries = std::ssize(weight);
  const int64_t most = std::max<int64_t>(1, g.m() / std::max<int64_t>(1, entries));
  const int64_t parts = std::clamp<int64_t>(team.threads(), 1, most);
  std::vector<std::vector<int64_t>> own(parts);
  parallel_parts(g.indptr, parts, team, [&](int64_t part, int64_t begin, int64_t end) {
    if (part > 0) own[part].assign(entries, 0);
    int64_t* sum = part == 0 ? weight.data() : own[part].data();
    for (int64_t i = begin; i < end; ++i) {
      const int32_t from = block[i];
      for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
        const int32_t to = block[g.target[e]];
        if (to == from) continue;
        const int64_t entry = from * blocks + to;
        sum[entry] += g.w(e);
        if (shared_load(seen[entry]) == 0) shared_store(seen[entry], uint8_t{1});
      }
    }
  });
  parallel_ranges(entries, kItemsPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    for (const std::vector<int64_t>& part : own)
      for (int64_t i = begin; i < end && !part.empty(); ++i) weight[i] += part[i];
  });
}

}  // namespace hopbytes
