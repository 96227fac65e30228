// The cost of a mapping from its definition, and the weights between blocks and of units, in one pass over
// the arcs. Sums of integers do not depend on the order, so several threads may share the rows.
#pragma once
#include <array>
#include <bit>
#include <numeric>

#include "graph/checked.hpp"
#include "graph/row_ranges.hpp"

namespace hopbytes {

// The volume by the width of the xor of the labels of both ends.
using VolumeByWidth = std::array<int64_t, 65>;

// Sums the volume of the arcs of some rows. Most arcs stay on one PE, so their labels are not compared.
template <bool weighted>
VolumeByWidth volume_by_width(const Csr& g, In<int32_t> pe, In<uint64_t> label, int64_t begin, int64_t end) {
  VolumeByWidth volume{};
  int64_t inside = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t own = pe[i];
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      const int32_t other = g.target[e], there = pe[other];
      const int64_t w = weighted ? g.weight[e] : 1;
      if (there == own) inside += other == i ? 0 : w;
      else volume[std::bit_width(label[own] ^ label[there])] += w;
    }
  }
  volume[0] += inside;
  return volume;
}

// Sums the volume per outermost level at which two PEs differ. Labels have one bit field per level, so the
// highest differing bit of two labels determines the level. Adds to `out`.
inline void volume_by_level(const Csr& g, In<int32_t> pe, In<uint64_t> label, In<uint8_t> level_of_bit,
                            Team& team, Out<int64_t> out) {
  expect_placed_rows(g, pe, std::ssize(label), team);
  expect(level_of_bit.size() == 65, "labels");
  expect_below(level_of_bit, std::ssize(out), "levels");
  parallel_rows(g.indptr, team, [&](int32_t, int64_t begin, int64_t end) {
    const VolumeByWidth volume = g.weight.empty() ? volume_by_width<false>(g, pe, label, begin, end)
                                                  : volume_by_width<true>(g, pe, label, begin, end);
    for (size_t width = 0; width < volume.size(); ++width)
      if (volume[width] != 0) shared_add(out[level_of_bit[width]], volume[width]);
  });
}

// Returns the sum of cost(row, arc) over all arcs.
template <class Cost> int64_t sum_over_arcs(const Csr& g, Team& team, const Cost& cost) {
  std::atomic<int64_t> total{0};
  parallel_rows(g.indptr, team, [&](int32_t, int64_t begin, int64_t end) {
    int64_t sum = 0;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) sum += cost(i, e);
    total.fetch_add(sum, std::memory_order_relaxed);
  });
  return total;
}

// Arcs of a task to itself count as well; they cost something only in tables with a nonzero diagonal.
inline int64_t comm_cost_table(const Csr& g, In<int32_t> pe, In<int64_t> table, Team& team) {
  int64_t k = 0;
  while (k * k < std::ssize(table)) ++k;
  expect(k * k == std::ssize(table), "distances");
  expect_placed_rows(g, pe, k, team);
  return sum_over_arcs(g, team,
                       [&](int64_t i, int64_t e) { return g.w(e) * table[pe[i] * k + pe[g.target[e]]]; });
}

// Returns the communication cost under any distance of which that from a PE to itself is 0.
template <class Distance>
int64_t comm_cost(const Csr& g, In<int32_t> pe, const Distance& distance, Team& team) {
  return sum_over_arcs(g, team, [&](int64_t i, int64_t e) {
    const int32_t from = pe[i], to = pe[g.target[e]];
    return from == to ? 0 : g.w(e) * distance(from, to);
  });
}

// Adds to `sums` what add(begin, end, sums) adds for some rows. Every part of the rows adds to an array of
// its own; there are only as many parts as arrays are no larger together than one entry per arc.
template <class Add> void add_by_parts(const Csr& g, Team& team, Out<int64_t> sums, const Add& add) {
  const auto entries = std::ssize(sums);
  const int64_t most = std::max<int64_t>(1, g.m() / std::max<int64_t>(1, entries));
  const int64_t parts = std::clamp<int64_t>(team.threads(), 1, most);
  std::vector<std::vector<int64_t>> own(parts);
  parallel_parts(g.indptr, parts, team, [&](int64_t part, int64_t begin, int64_t end) {
    if (part > 0) own[part].assign(entries, 0);
    add(begin, end, part == 0 ? sums.data() : own[part].data());
  });
  parallel_ranges(entries, kItemsPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    for (const std::vector<int64_t>& part : own)
      for (int64_t i = begin; i < end && !part.empty(); ++i) sums[i] += part[i];
  });
}

// Adds the weight of the arcs from block a to another block b to weight[a * blocks + b], and sets that entry
// of `seen` if there is such an arc, even without weight.
inline void block_weights(const Csr& g, In<int32_t> block, int64_t blocks, Team& team, Out<int64_t> weight,
                          Out<uint8_t> seen) {
  expect_placed_rows(g, block, blocks, team);
  expect(std::ssize(weight) == blocks * blocks && seen.size() == weight.size(), "sums of blocks");
  add_by_parts(g, team, weight, [&](int64_t begin, int64_t end, int64_t* sum) {
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
}

// Writes the weight that every unit (PE, node) sends to and receives from others; unit[i] is the unit of task
// i. Returns the weight between units and within them, without arcs of a task to itself.
inline std::pair<int64_t, int64_t> unit_traffic(const Csr& g, In<int32_t> unit, Team& team, Out<int64_t> sent,
                                                Out<int64_t> received) {
  const auto units = std::ssize(sent);
  expect_placed_rows(g, unit, units, team);
  expect(sent.size() == received.size(), "sums of units");
  std::vector<int64_t> sums(2 * units + 1, 0);  // sent, received, within
  add_by_parts(g, team, sums, [&](int64_t begin, int64_t end, int64_t* sum) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t from = unit[i];
      int64_t leaving = 0, within = 0;
      for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
        const int32_t to = unit[g.target[e]];
        if (to != from) leaving += g.w(e), sum[units + to] += g.w(e);
        else if (g.target[e] != i) within += g.w(e);
      }
      sum[from] += leaving, sum[2 * units] += within;
    }
  });
  std::copy_n(sums.begin(), units, sent.begin());
  std::copy_n(sums.begin() + units, units, received.begin());
  return {std::accumulate(sent.begin(), sent.end(), int64_t{0}), sums.back()};
}

}  // namespace hopbytes
