#include "partition/refinement/flow_refinement.hpp"

#include <algorithm>

#include "partition/refinement/block_boundaries.hpp"
#include "partition/refinement/pair_flow.hpp"

namespace hopbytes {

namespace {

// A pair of adjacent blocks: the range of its boundary vertices and the cost of its boundary.
struct AdjacentBlocks {
  size_t begin, end;
  int64_t cost;
};

// Returns the pairs of adjacent blocks, the most expensive boundary first.
std::vector<AdjacentBlocks> most_expensive_first(const std::vector<BoundaryVertex>& boundary) {
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

}  // namespace

template <class W>
void FlowRefinement<W>::refine(Partition<W>& partition, Rng&, const Control& control) {
  if (partition.overload() > 0) return;
  const Graph<W>& g = partition.graph();
  std::vector<int64_t> load(partition.loads());
  PairFlow flow(g, partition.blocks().data(), load, partition.max_block_weights().data(), context_, control);
  const std::function<void(PairFlow&)> build = [&](PairFlow& pair) { pair.build(g, partition.distance()); };
  std::vector<uint8_t> active(load.size(), 1), next_active(load.size());
  std::vector<BoundaryVertex> boundary_vertices;
  std::vector<int32_t> boundary;
  bool changed = false;
  const int64_t budget = flow.work_left();
  for (int32_t round = 0; round < context_.rounds; ++round) {
    control.record_work(g.arcs());
    find_boundary_vertices(partition, active, boundary_vertices);
    std::fill(next_active.begin(), next_active.end(), 0);
    bool gained = false;
    for (const AdjacentBlocks& pair : most_expensive_first(boundary_vertices)) {
      if (flow.stop()) break;
      const int32_t a = boundary_vertices[pair.begin].a, b = boundary_vertices[pair.begin].b;
      boundary.clear();
      for (size_t i = pair.begin; i < pair.end; ++i)
        if (boundary.empty() || boundary.back() != boundary_vertices[i].vertex)
          boundary.push_back(boundary_vertices[i].vertex);
      if (flow.improve(build, a, b, boundary) > 0) gained = true, next_active[a] = next_active[b] = 1;
    }
    active.swap(next_active);
    if (!gained) break;
    changed = true;
  }
  control.record_work(budget - flow.work_left());
  if (!changed) return;
  partition.blocks_were_changed();
  partition.find_boundary();
}

template class FlowRefinement<int32_t>;
template class FlowRefinement<int64_t>;

}  // namespace hopbytes
