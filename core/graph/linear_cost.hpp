// Linear assignment costs of vertices on blocks, in addition to the costs of edges: migration costs,
// forbidden blocks, fixed vertices. Sparse: a vertex lists some blocks and has the same cost on all others.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hopbytes {

struct LinearCost {
  // Costs from this value on mean that the vertex is forbidden on the block. Finite costs sum to at most half
  // of it.
  static constexpr int64_t kForbidden = int64_t{1} << 60;

  std::vector<int64_t> start;  // n + 1
  std::vector<int32_t> block;  // ascending within a vertex
  std::vector<int64_t> cost;
  std::vector<int64_t> rest;  // cost on blocks that are not listed
  std::vector<int32_t> kind;  // equal for vertices with the same forbidden blocks, 0 for none

  // Returns the costs where each vertex has to be on a block, or may be on any where that is negative.
  static LinearCost fixed(std::span<const int32_t> block);

  int64_t n() const { return static_cast<int64_t>(rest.size()); }

  std::span<const int32_t> listed(int64_t v) const {
    return {block.data() + start[v], static_cast<size_t>(start[v + 1] - start[v])};
  }

  int64_t operator()(int64_t v, int32_t b) const {
    const auto first = block.begin() + start[v], last = block.begin() + start[v + 1];
    const auto found = std::lower_bound(first, last, b);
    return found != last && *found == b ? cost[found - block.begin()] : rest[v];
  }

  bool allows(int64_t v, int32_t b) const { return kind[v] == 0 || (*this)(v, b) < kForbidden; }

  // Returns whether some block is cheaper than `own`.
  bool has_cheaper_block(int64_t v, int32_t own) const;

  // Numbers the different sets of forbidden blocks.
  void find_kinds();

  // Returns the rows of some vertices.
  LinearCost of(std::span<const int32_t> members) const;

  // Returns the costs of clusters, the sums over their members. The members of a cluster are of one kind.
  LinearCost contracted(std::span<const int32_t> map, int64_t count) const;

  // Returns the sum over all vertices that are on permitted blocks and adds the number of all others to
  // `forbidden`.
  int64_t total(const int32_t* part, int64_t& forbidden) const;

  // Returns equal labels for vertices that agree in both `label` (may be null) and kind, numbered in the
  // order of their first vertices. O(n) expected.
  std::vector<int32_t> labels(const int32_t* label) const;
};

}  // namespace hopbytes
