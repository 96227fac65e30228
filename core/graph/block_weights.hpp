// The weight of arcs between the blocks of a partition.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/csr.hpp"
#include "graph/row_ranges.hpp"

namespace hopbytes {

// Adds the weight of the arcs from block a to another block b to weight[a * blocks + b], and sets that entry
// of `seen` if there is such an arc, even without weight. Every thread adds to a table of its own; there are
// only as many threads as tables are no larger together than one entry per arc.
inline void block_weights(const Csr& g, In<int32_t> block, int64_t blocks, int32_t threads,
                          Out<int64_t> weight, Out<uint8_t> seen) {
  const auto entries = std::ssize(weight);
  const int64_t most = std::max<int64_t>(1, g.m() / std::max<int64_t>(1, entries));
  const auto workers = static_cast<int32_t>(std::clamp<int64_t>(threads, 1, most));
  std::vector<std::vector<int64_t>> own(workers);
  parallel_rows(g.indptr, workers, [&](int32_t worker, int64_t begin, int64_t end) {
    if (worker > 0 && own[worker].empty()) own[worker].assign(entries, 0);
    int64_t* sum = worker == 0 ? weight.data() : own[worker].data();
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
  parallel_ranges(entries, kItemsPerRange, workers, [&](int32_t, int64_t begin, int64_t end) {
    for (const std::vector<int64_t>& part : own)
      for (int64_t i = begin; i < end && !part.empty(); ++i) weight[i] += part[i];
  });
}

}  // namespace hopbytes
