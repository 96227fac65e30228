// The multilevel scheme: coarsen, partition the coarsest graph, refine on every level on the way back. All
// partitions, V-cycles and recombinations are calls of multilevel() with different arguments.
#pragma once
#include <unordered_map>

#include "partition/coarsening/coarsen.hpp"
#include "partition/refinement/refiner.hpp"
#include "util/memory.hpp"

namespace hopbytes {

// The partition of the coarsest graph from which refinement starts.
struct Start {
  std::vector<int32_t> block;
  bool refined = false;  // whether to leave out the refinement of the coarsest of several graphs
};

template <class W> using StartAt = std::function<Start(const Hierarchy<W>& hierarchy, Rng& rng)>;

// Partitions the coarsest graph and refines the result on every level on the way back. A level is freed as
// soon as its partition is projected to the next finer one, so that refinement of a huge graph does not need
// memory at the same time as its contractions.
template <class W>
void uncoarsen(Hierarchy<W> hierarchy, const StartAt<W>& start, RefinerChain<W>& refiners,
               Partition<W>& partition, Rng& rng, const Control& control) {
  Start coarsest = start(hierarchy, rng);
  partition.assign(hierarchy.coarsest(), std::move(coarsest.block));
  refiners.start();
  if (!coarsest.refined || hierarchy.size() == 0) refiners.refine(partition, rng, control);
  for (size_t i = hierarchy.size(); i-- > 0;) {
    partition.project(hierarchy.graph(i), hierarchy.map(i));
    hierarchy.remove_coarsest();
    release_freed_memory(hierarchy.graph(i).arcs());
    refiners.refine(partition, rng, control);
  }
}

// Leaves the result in `partition`, which has the maximum block weights and distances. Only vertices of equal
// communities are contracted (null: all may be).
template <class W>
void multilevel(const Graph<W>& g, const CoarseningContext& coarsening, const int32_t* community,
                const StartAt<W>& start, RefinerChain<W>& refiners, Partition<W>& partition, Rng& rng,
                const Control& control) {
  uncoarsen(coarsen(g, community, coarsening, rng, control), start, refiners, partition, rng, control);
}

// Returns equal communities for vertices on whose blocks two partitions into k blocks agree. If there are too
// many pairs of blocks for a product to number them, they are numbered in the order of their appearance.
inline UnsetVector<int32_t> common_refinement(const std::vector<int32_t>& block, const int32_t* other,
                                              int64_t k, Team& team) {
  UnsetVector<int32_t> community(block.size());
  if (k * k <= std::numeric_limits<int32_t>::max()) {
    parallel_ranges(std::ssize(block), kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) community[v] = static_cast<int32_t>(block[v] * k + other[v]);
    });
    return community;
  }
  std::unordered_map<int64_t, int32_t> number;
  for (size_t v = 0; v < block.size(); ++v)
    community[v] =
        number.try_emplace(block[v] * k + other[v], static_cast<int32_t>(number.size())).first->second;
  return community;
}

// A V-cycle, or a recombination with another partition into as many blocks: contracts vertices that are
// together in both (in `block` if `other` is null), starts from `block` and refines on every level. Calls
// see(graph, block) for the coarsest graph before it is refined.
template <class W, class See>
void refine_from(const Graph<W>& g, const CoarseningContext& coarsening, const std::vector<int32_t>& block,
                 const int32_t* other, RefinerChain<W>& refiners, Partition<W>& partition, Rng& rng,
                 const Control& control, See see) {
  Team& team = control.team();
  UnsetVector<int32_t> common;
  if (other) common = common_refinement(block, other, partition.k(), team);
  const StartAt<W> start = [&](const Hierarchy<W>& hierarchy, Rng&) {
    Start coarse{hierarchy.project_to_coarsest(block, team)};
    see(hierarchy.coarsest(), coarse.block);
    return coarse;
  };
  multilevel(g, coarsening, other ? common.data() : block.data(), start, refiners, partition, rng, control);
}

}  // namespace hopbytes
