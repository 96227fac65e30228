// Computes the cost of a mapping from its definition, in one pass over the arcs.
#pragma once
#include <bit>

#include "graph/csr.hpp"

namespace hopbytes {

// Sums the volume per outermost level at which two PEs differ. Labels have one bit field per level, so the
// highest differing bit of two labels determines the level.
inline void volume_by_level(const Csr& g, In<int32_t> pe, In<uint64_t> label, In<uint8_t> level_of_bit,
                            Out<int64_t> out) {
  for (int64_t i = 0; i < g.n(); ++i) {
    const uint64_t own = label[pe[i]];
    int64_t inside = 0;  // Most arcs stay on one PE, and sums in memory have to wait for each other.
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      const int32_t other = g.target[e];
      if (pe[other] == pe[i]) inside += other == i ? 0 : g.w(e);
      else out[level_of_bit[std::bit_width(own ^ label[pe[other]])]] += g.w(e);
    }
    out[level_of_bit[0]] += inside;
  }
}

// Arcs of a task to itself count as well; they cost something only in tables with a nonzero diagonal.
inline int64_t comm_cost_table(const Csr& g, In<int32_t> pe, In<int64_t> table, int64_t k) {
  int64_t total = 0;
  for (int64_t i = 0; i < g.n(); ++i)
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e)
      total += g.w(e) * table[pe[i] * k + pe[g.target[e]]];
  return total;
}

// Returns the communication cost under any distance; arcs of a task to itself are left out.
template <class Distance> int64_t comm_cost(const Csr& g, In<int32_t> pe, const Distance& distance) {
  int64_t total = 0;
  for (int64_t i = 0; i < g.n(); ++i)
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e)
      if (g.target[e] != i) total += g.w(e) * distance(pe[i], pe[g.target[e]]);
  return total;
}

}  // namespace hopbytes
