#include "partition/refinement/flow_refinement.hpp"

#include <algorithm>

#include "partition/refinement/block_boundaries.hpp"
#include "partition/refinement/independent_pairs.hpp"
#include "partition/refinement/pair_flow.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

namespace {

// Returns the vertices of the boundary between two blocks.
std::vector<int32_t> vertices_of(const std::vector<BoundaryVertex>& boundary, const AdjacentBlocks& pair) {
  std::vector<int32_t> vertices;
  for (size_t i = pair.begin; i < pair.end; ++i)
    if (vertices.empty() || vertices.back() != boundary[i].vertex) vertices.push_back(boundary[i].vertex);
  return vertices;
}

// Returns the pairs of adjacent blocks, the most expensive boundary first.
std::vector<AdjacentBlocks> most_expensive_first(const std::vector<BoundaryVertex>& boundary) {
  std::vector<AdjacentBlocks> pairs;
  for (size_t i = 0; i < boundary.size(); ++i) {
    if (i == 0 || boundary[i].a != boundary[i - 1].a || boundary[i].b != boundary[i - 1].b)
      pairs.push_back({boundary[i].a, boundary[i].b, i, i, 0});
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
  constexpr int64_t many_vertices = 1 << 15;
  if (partition.overload() > 0) return;
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  std::vector<int64_t> load(partition.loads());
  const std::function<void(PairFlow&)> build = [&](PairFlow& pair) { pair.build(g, partition.distance()); };
  std::vector<std::unique_ptr<PairFlow>> flows(control.threads());  // of each thread
  std::vector<uint8_t> active(load.size(), 1), next_active(load.size());
  std::vector<BoundaryVertex> boundary;
  std::vector<int32_t> moved;
  IndependentPairs independent(partition.distance(), std::ssize(load), g.n >= many_vertices);
  // If many blocks are adjacent to each other (random graphs), every pair frees large parts of both blocks,
  // O(k m) in total.
  int64_t work_left = context_.most_work * (g.arcs() + g.n);
  const auto improve_all = [&](const std::vector<AdjacentBlocks>& batch) {
    std::vector<PairFlow::Result> results(batch.size());
    parallel_ranges(std::ssize(batch), 1, control.threads(), [&](int32_t worker, int64_t i, int64_t) {
      if (!flows[worker])
        flows[worker] = std::make_unique<PairFlow>(g, partition.blocks().data(), load,
                                                   partition.max_block_weights().data(), context_, control);
      results[i] =
          flows[worker]->improve(build, vertices_of(boundary, batch[i]), batch[i].a, batch[i].b, work_left);
    });
    int64_t work = 0, longest = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
      work += results[i].work, longest = std::max(longest, results[i].work);
      if (results[i].gain <= 0) continue;
      next_active[batch[i].a] = next_active[batch[i].b] = 1;
      moved.insert(moved.end(), results[i].moved.begin(), results[i].moved.end());
      independent.record_moves(g, partition.blocks(), results[i].moved);
    }
    control.record_parallel_work(work, longest);
    work_left -= work;
  };
  for (int32_t round = 0; round < context_.rounds; ++round) {
    control.record_work(find_boundary_vertices(partition, active, boundary));
    std::fill(next_active.begin(), next_active.end(), 0);
    moved.clear();
    for (const auto& planned : independent.batches(most_expensive_first(boundary)))
      for (const auto& batch : independent.still_independent(planned)) {
        if (work_left < 0 || control.should_stop()) break;
        improve_all(batch);
      }
    if (moved.empty()) break;
    partition.blocks_were_changed(moved);
    active.swap(next_active);
  }
}

template class FlowRefinement<int32_t>;
template class FlowRefinement<int64_t>;

}  // namespace hopbytes
