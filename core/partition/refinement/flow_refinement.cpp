#include "partition/refinement/flow_refinement.hpp"

#include "partition/refinement/region_cuts.hpp"

namespace hopbytes {

namespace {

// Distributes pairs among batches without a common block, the first pair of a block in the earliest batch.
// Their cuts do not depend on each other if all blocks are equally far apart.
std::vector<std::vector<AdjacentBlocks>> disjoint_batches(const std::vector<AdjacentBlocks>& pairs,
                                                          int64_t k) {
  std::vector<std::vector<AdjacentBlocks>> found;
  std::vector<size_t> next(k, 0);  // the first batch after those of each block
  for (const AdjacentBlocks& pair : pairs) {
    const size_t batch = std::max(next[pair.a], next[pair.b]);
    if (batch == found.size()) found.emplace_back();
    found[batch].push_back(pair);
    next[pair.a] = next[pair.b] = batch + 1;
  }
  return found;
}

}  // namespace

template <class W>
void FlowRefinement<W>::refine(Partition<W>& partition, Rng&, const Control& control) {
  if (partition.overload() > 0) return;
  partition.find_boundary();
  const AnyGraph g(partition.graph());
  RegionCuts cuts({g, partition.distance(), partition.blocks(), partition.loads(),
                   partition.max_block_weights(), context_, control},
                  widths_);
  std::vector<uint8_t> active(partition.k(), 1), next_active(partition.k());
  BoundaryVertices boundary;
  std::vector<int32_t> moved;
  const auto improve = [&](const std::vector<AdjacentBlocks>& pairs, int64_t boundary_of_region) {
    if (cuts.exhausted() || control.should_stop()) return;
    cuts.improve(cuts.regions(boundary, pairs, boundary_of_region), moved, next_active);
  };
  for (int32_t round = 0; round < context_.rounds; ++round) {
    find_boundary_vertices(g, partition.distance(), partition.blocks(), partition.boundary(), active, control,
                           boundary);
    std::fill(next_active.begin(), next_active.end(), 0);
    moved.clear();
    std::vector<AdjacentBlocks> pairs = adjacent_blocks(boundary);
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const AdjacentBlocks& x, const AdjacentBlocks& y) { return x.cost > y.cost; });
    if (g.n >= context_.many_vertices) improve(pairs, context_.boundary_of_region);
    else if (partition.distance().flat())
      for (const auto& batch : disjoint_batches(pairs, partition.k())) improve(batch, 0);
    else
      for (const AdjacentBlocks& pair : pairs) improve({pair}, 0);
    if (moved.empty()) break;
    if (g.n >= context_.many_vertices && round + 1 < context_.rounds) cuts.look_only_near(moved);
    partition.blocks_were_changed(moved, cuts.loads());
    active.swap(next_active);
  }
}

template class FlowRefinement<int32_t>;
template class FlowRefinement<int64_t>;

}  // namespace hopbytes
