#include "partition/refinement/flow_refinement.hpp"

#include <algorithm>

#include "partition/refinement/block_boundaries.hpp"
#include "partition/refinement/pair_flow.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

namespace {

// A pair of adjacent blocks: the range of its boundary vertices and the cost of its boundary.
struct AdjacentBlocks {
  size_t begin, end;
  int64_t cost;
};

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
      pairs.push_back({i, i, 0});
    pairs.back().end = i + 1;
    pairs.back().cost += boundary[i].cost;
  }
  std::sort(pairs.begin(), pairs.end(), [](const AdjacentBlocks& x, const AdjacentBlocks& y) {
    return x.cost != y.cost ? x.cost > y.cost : x.begin < y.begin;
  });
  return pairs;
}

// Distributes the pairs among batches: pairs of a batch have no block in common, and of two pairs with a
// common block the one that comes first is in the earlier batch. Under other than flat distances the gain of
// a move depends on the blocks of all neighbours, so every pair is a batch.
std::vector<std::vector<AdjacentBlocks>> independent_batches(std::vector<AdjacentBlocks> pairs,
                                                             const std::vector<BoundaryVertex>& boundary,
                                                             size_t k, bool flat) {
  std::vector<std::vector<AdjacentBlocks>> batches;
  std::vector<size_t> next(k, 0);  // the first batch after those of each block
  for (const AdjacentBlocks& pair : pairs) {
    size_t &a = next[boundary[pair.begin].a], &b = next[boundary[pair.begin].b];
    const size_t batch = flat ? std::max(a, b) : batches.size();
    if (batch == batches.size()) batches.emplace_back();
    batches[batch].push_back(pair);
    a = b = batch + 1;
  }
  return batches;
}

}  // namespace

template <class W>
void FlowRefinement<W>::refine(Partition<W>& partition, Rng&, const Control& control) {
  if (partition.overload() > 0) return;
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  std::vector<int64_t> load(partition.loads());
  const std::function<void(PairFlow&)> build = [&](PairFlow& pair) { pair.build(g, partition.distance()); };
  std::vector<std::unique_ptr<PairFlow>> flows(control.threads());  // of each thread
  std::vector<uint8_t> active(load.size(), 1), next_active(load.size());
  std::vector<BoundaryVertex> boundary;
  // If many blocks are adjacent to each other (random graphs), every pair frees large parts of both blocks,
  // O(k m) in total.
  int64_t work_left = context_.most_work * (g.arcs() + g.n);
  for (int32_t round = 0; round < context_.rounds; ++round) {
    control.record_work(find_boundary_vertices(partition, active, boundary));
    std::fill(next_active.begin(), next_active.end(), 0);
    std::vector<int32_t> moved;
    for (const auto& batch : independent_batches(most_expensive_first(boundary), boundary, load.size(),
                                                 partition.distance().flat())) {
      if (work_left < 0 || control.should_stop()) break;
      std::vector<PairFlow::Result> results(batch.size());
      parallel_ranges(std::ssize(batch), 1, control.threads(), [&](int32_t worker, int64_t i, int64_t) {
        if (!flows[worker])
          flows[worker] = std::make_unique<PairFlow>(g, partition.blocks().data(), load,
                                                     partition.max_block_weights().data(), context_, control);
        const BoundaryVertex& first = boundary[batch[i].begin];
        results[i] = flows[worker]->improve(build, vertices_of(boundary, batch[i]), first.a, first.b,
                                            work_left);
      });
      int64_t longest = 0;
      for (const PairFlow::Result& result : results) longest = std::max(longest, result.work);
      control.record_span(longest);
      for (size_t i = 0; i < batch.size(); ++i) {
        control.record_parallel_work(results[i].work, 0);
        work_left -= results[i].work;
        if (results[i].gain <= 0) continue;
        next_active[boundary[batch[i].begin].a] = next_active[boundary[batch[i].begin].b] = 1;
        moved.insert(moved.end(), results[i].moved.begin(), results[i].moved.end());
      }
    }
    if (moved.empty()) break;
    partition.blocks_were_changed(moved);
    active.swap(next_active);
  }
}

template class FlowRefinement<int32_t>;
template class FlowRefinement<int64_t>;

}  // namespace hopbytes
