// Minimum cuts in many regions at the same time.
#pragma once
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"
#include "partition/refinement/block_boundaries.hpp"
#include "partition/refinement/corridor.hpp"
#include "partition/refinement/pair_flow.hpp"
#include "partition/refinement/region_widths.hpp"
#include "util/control.hpp"

namespace hopbytes {

// A pair of adjacent blocks: the range of its boundary vertices and the cost of its boundary.
struct AdjacentBlocks {
  int32_t a, b;
  size_t begin, end;
  int64_t cost;
};

// All cuts are computed for the same blocks and loads. The moves are then made region by region, in the order
// of the regions, where they still lower the cost and overload no block: a region may share vertices, edges
// and blocks with others. So the result does not depend on the number of threads.
class RegionCuts {
 public:
  // All arguments are kept by reference, but the loads are copied: only the blocks are changed, until the
  // caller hands the moved vertices to the partition. The widths are changed where cuts fail by them.
  RegionCuts(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
             const std::vector<int64_t>& load, std::span<const int64_t> max_block_weight,
             const FlowContext& context, RegionWidths& widths, const Control& control);
  RegionCuts(const RegionCuts&) = delete;
  RegionCuts& operator=(const RegionCuts&) = delete;
  ~RegionCuts();

  // The loads of the present blocks.
  const std::vector<int64_t>& loads() const { return load_; }

  // Whether all the work that the context permits is done.
  bool exhausted() const { return work_left_ < 0; }

  // Makes regions() leave out those in which nothing is new after these moves: no vertex moved on or beside
  // the boundary of the blocks, or in or beside the region, and the last cut between the blocks did not fail
  // because of its width.
  void look_only_near(std::span<const int32_t> moved);

  // Returns the regions around the boundaries of some pairs, see Corridor.
  std::vector<FlowRegion> regions(const BoundaryVertices& boundary, const std::vector<AdjacentBlocks>& pairs,
                                  int64_t boundary_of_region);

  // Improves all regions. Appends the vertices that have moved, and marks their blocks as changed.
  void improve(const std::vector<FlowRegion>& regions, std::vector<int32_t>& moved,
               std::vector<uint8_t>& changed);

 private:
  // Whether a cut of these vertices may find something that the one before did not.
  bool may_differ(int32_t a, int32_t b, std::span<const int32_t> vertices) const;
  void narrow_where_too_wide(const std::vector<FlowRegion>& regions,
                             const std::vector<PairFlow::Result>& results);
  void record(const std::vector<int64_t>& work, const std::vector<int64_t>& span);
  std::vector<int64_t> shares_of_work(const std::vector<FlowRegion>& regions) const;
  bool apply(const FlowRegion& region, std::vector<PairFlow::Move>& moves);
  void change_block(int32_t v, int32_t from, int32_t to);

  const AnyGraph& g_;
  const AnyDistance& distance_;
  std::vector<int32_t>& block_;
  std::span<const int64_t> max_block_weight_;
  const FlowContext& context_;
  RegionWidths& widths_;
  const Control& control_;
  std::vector<int64_t> load_;
  std::vector<std::unique_ptr<Corridor>> corridors_;  // of each thread
  std::vector<std::unique_ptr<PairFlow>> flows_;      // of each thread
  int64_t work_left_;
  std::vector<uint8_t>
      near_moves_;  // whether a vertex moved or has a neighbour that did; empty: all may have
  std::unordered_set<int64_t> narrowed_;  // the pairs a * k + b whose regions the last cuts made narrower
  int64_t scanned_ = 0;  // edges looked at by the last applications
};

}  // namespace hopbytes
