// Flow-based refinement: minimum cuts between all pairs of adjacent blocks, under any distance.
#pragma once
#include <algorithm>

#include "block_boundaries.hpp"
#include "pair_flow.hpp"

namespace hopbytes {

// Refines the pairs of blocks with the most expensive boundaries first; later rounds visit only pairs with a
// block that changed. Returns the gain.
template <class W, class D>
int64_t flow_refine(const WorkGraph<W>& g, const D& distance, int32_t* part, std::vector<int64_t>& load,
                    const int64_t* max_block_weight, const FlowOptions& options, const Control& control) {
  PairFlow<W, D> flow(g, distance, part, load, max_block_weight, options, control);
  std::vector<uint8_t> active(load.size(), 1), next_active(load.size());
  std::vector<BoundaryVertex> boundary_vertices;
  int64_t total = 0;
  const int64_t budget = flow.work_left();
  for (int32_t round = 0; round < options.rounds; ++round) {
    control.record_work(g.arcs());
    find_boundary_vertices(g, distance, part, active, boundary_vertices);
    struct Pair { size_t begin, end; int64_t cost; };
    std::vector<Pair> pairs;
    for (size_t i = 0; i < boundary_vertices.size(); ++i) {
      if (i == 0 || boundary_vertices[i].a != boundary_vertices[i - 1].a ||
          boundary_vertices[i].b != boundary_vertices[i - 1].b)
        pairs.push_back({i, i, 0});
      pairs.back().end = i + 1;
      pairs.back().cost += boundary_vertices[i].cost;
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& x, const Pair& y) { return x.cost > y.cost; });
    std::fill(next_active.begin(), next_active.end(), 0);
    int64_t gained = 0;
    std::vector<int32_t> boundary;
    for (const Pair& pair : pairs) {
      if (flow.stop()) break;
      const int32_t a = boundary_vertices[pair.begin].a, b = boundary_vertices[pair.begin].b;
      boundary.clear();
      for (size_t i = pair.begin; i < pair.end; ++i)
        if (boundary.empty() || boundary.back() != boundary_vertices[i].vertex)
          boundary.push_back(boundary_vertices[i].vertex);
      const int64_t gain = flow.improve(a, b, boundary);
      gained += gain;
      if (gain > 0) next_active[a] = next_active[b] = 1;
    }
    total += gained;
    active.swap(next_active);
    if (gained == 0) break;
  }
  control.record_work(budget - flow.work_left());
  return total;
}

}  // namespace hopbytes
