// Flow-based refinement: minimum cuts between all pairs of adjacent blocks, under any distance.
#pragma once
#include <algorithm>
#include <functional>

#include "block_boundaries.hpp"
#include "pair_flow.hpp"

namespace hopbytes {

// A pair of adjacent blocks: the range of its boundary vertices and the cost of its boundary.
struct AdjacentBlocks { size_t begin, end; int64_t cost; };

// Returns the pairs of adjacent blocks, the most expensive boundary first.
inline std::vector<AdjacentBlocks> most_expensive_first(const std::vector<BoundaryVertex>& boundary) {
  std::vector<AdjacentBlocks> pairs;
  for (size_t i = 0; i < boundary.size(); ++i) {
    if (i == 0 || boundary[i].a != boundary[i - 1].a || boundary[i].b != boundary[i - 1].b)
      pairs.push_back({i, i, 0});
    pairs.back().end = i + 1;
    pairs.back().cost += boundary[i].cost;
  }
  std::sort(pairs.begin(), pairs.end(), [](const AdjacentBlocks& x, const AdjacentBlocks& y) {
    return x.cost != y.cost ? x.cost > y.cost : x.begin < y.begin;
  });
  return pairs;
}

// What flow refinement does with weights and distances: it lists the boundary vertices of pairs with an
// active block, and builds the network of a region.
struct FlowCallbacks {
  std::function<void(const std::vector<uint8_t>& active, std::vector<BoundaryVertex>& boundary)> list;
  std::function<void(PairFlow& flow)> build;
};

// See flow_refine below.
inline int64_t refine_pairs(const GraphShape& g, const FlowCallbacks& callbacks, int32_t* part,
                            std::vector<int64_t>& load, const int64_t* max_block_weight,
                            const FlowOptions& options, const Control& control) {
  PairFlow flow(g, part, load, max_block_weight, options, control);
  std::vector<uint8_t> active(load.size(), 1), next_active(load.size());
  std::vector<BoundaryVertex> boundary_vertices;
  int64_t total = 0;
  const int64_t budget = flow.work_left();
  for (int32_t round = 0; round < options.rounds; ++round) {
    control.record_work(g.arcs());
    callbacks.list(active, boundary_vertices);
    std::fill(next_active.begin(), next_active.end(), 0);
    int64_t gained = 0;
    std::vector<int32_t> boundary;
    for (const AdjacentBlocks& pair : most_expensive_first(boundary_vertices)) {
      if (flow.stop()) break;
      const int32_t a = boundary_vertices[pair.begin].a, b = boundary_vertices[pair.begin].b;
      boundary.clear();
      for (size_t i = pair.begin; i < pair.end; ++i)
        if (boundary.empty() || boundary.back() != boundary_vertices[i].vertex)
          boundary.push_back(boundary_vertices[i].vertex);
      const int64_t gain = flow.improve(callbacks.build, a, b, boundary);
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

// Refines the pairs of blocks with the most expensive boundaries first; later rounds visit only pairs with a
// block that changed. Returns the gain.
template <class W, class D>
int64_t flow_refine(const WorkGraph<W>& g, const D& distance, int32_t* part, std::vector<int64_t>& load,
                    const int64_t* max_block_weight, const FlowOptions& options, const Control& control) {
  const FlowCallbacks callbacks{
      [&](const std::vector<uint8_t>& active, std::vector<BoundaryVertex>& boundary) {
        find_boundary_vertices(g, distance, part, active, boundary);
      },
      [&](PairFlow& flow) { flow.build(g, distance); }};
  return refine_pairs(g, callbacks, part, load, max_block_weight, options, control);
}

}  // namespace hopbytes
