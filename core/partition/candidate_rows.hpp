// Partitions from other sources that compete with those of the engine.
#pragma once
#include <cstdint>
#include <span>

namespace hopbytes {

// A row-major array of partitions of n vertices; a negative entry of the first vertex of a group means that
// the row has no partition of that group.
struct CandidateRows {
  std::span<const int32_t> entries;
  size_t n = 0;

  size_t count() const { return n == 0 ? 0 : entries.size() / n; }
  // Returns row c, null if it has no partition of the group.
  const int32_t* row(size_t c, int32_t first_vertex) const {
    const int32_t* found = entries.data() + c * n;
    return found[first_vertex] < 0 ? nullptr : found;
  }
  bool any(int32_t first_vertex) const {
    for (size_t c = 0; c < count(); ++c)
      if (row(c, first_vertex)) return true;
    return false;
  }
};

}  // namespace hopbytes
