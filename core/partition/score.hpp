// The quality of a partition, and partitions that compete by it.
#pragma once
#include <limits>

#include "graph/graph.hpp"
#include "graph/group_sums.hpp"

namespace hopbytes {

// Quality of a partition: overload first, then cut.
struct Score {
  int64_t overload = std::numeric_limits<int64_t>::max();
  int64_t cut = std::numeric_limits<int64_t>::max();
  bool operator<(const Score& other) const {
    return overload != other.overload ? overload < other.overload : cut < other.cut;
  }
};

// A partition and its quality.
struct Candidate {
  Score score;
  std::vector<int32_t> part;
};

inline void best_first(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) { return x.score < y.score; });
}

inline std::vector<int64_t> block_loads(const GraphShape& g, int64_t k, const int32_t* part,
                                        Team& team = Team::alone()) {
  std::vector<int64_t> load(k, 0);
  group_sums({part, static_cast<size_t>(g.n)}, g.load, team, load);
  return load;
}

// Computes the quality from scratch.
template <class W>
Score score(const Graph<W>& g, const int32_t* part, std::span<const int64_t> max_block_weight,
            Team& team = Team::alone(), bool with_linear_cost = true) {
  const std::vector<int64_t> load = block_loads(g, std::ssize(max_block_weight), part, team);
  Score s{0, edge_cut(g, part, team)};
  // A vertex on a forbidden block counts as overload.
  if (g.linear_cost && with_linear_cost) s.cut += g.linear_cost->total(part, s.overload);
  for (size_t b = 0; b < max_block_weight.size(); ++b)
    s.overload += std::max<int64_t>(0, load[b] - max_block_weight[b]);
  return s;
}

}  // namespace hopbytes
