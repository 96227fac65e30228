// The surroundings of the boundary between two blocks, divided into regions of bounded size.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "partition/context.hpp"
#include "graph/graph.hpp"
#include "util/zeroed_array.hpp"

namespace hopbytes {

// Vertices of two blocks that a minimum cut between them may move: those in a first, then those in b.
struct FlowRegion {
  int32_t a = 0, b = 0;
  int32_t in_a = 0;  // number of vertices in a
  std::vector<int32_t> vertices;
  std::vector<int32_t> depth;  // of each vertex: its distance from the boundary inside its block
};

// Divides the boundary between two blocks, with its neighbours, into connected parts, and grows a region
// around each part. The regions of a pair have no common vertex, and together they are what a
// single region would be.
class Corridor {
 public:
  // All arguments are kept by reference.
  Corridor(const GraphShape& g, const std::vector<int32_t>& block, const std::vector<int64_t>& load,
           std::span<const int64_t> max_block_weight, const FlowContext& context)
      : g_(g),
        block_(block),
        load_(load),
        max_block_weight_(max_block_weight),
        context_(context),
        label_(g.n) {}

  // Returns the regions around the boundary of a and b, given its vertices: so many of them a region, about;
  // 0 for a single region. The widths are those of the parts of a and b, see RegionWidths. The result does
  // not depend on the number of threads.
  std::vector<FlowRegion> regions(const std::vector<int32_t>& boundary, int32_t a, int32_t b, double width_a,
                                  double width_b, int64_t boundary_of_region, Team& team = Team::alone());

  // Edges scanned by the last call, and how many of them in turn with any number of threads.
  int64_t scanned_edges() const { return scanned_edges_; }
  int64_t span() const { return scanned_edges_ - overlapped_; }

 private:
  static constexpr int32_t kNone = SparseNumbers::unset, kUnassigned = -2;  // labels beside those of regions
  // At most one vertex of the band in so many may be on the border of its part.
  static constexpr int64_t kVerticesPerBorderVertex = 8;
  // From so many boundary vertices on, both blocks are searched side by side, and layers by ranges.
  static constexpr int64_t kManyVertices = 1 << 9, kVerticesPerRange = 1 << 8;
  // The label of a vertex of the band that joins this region as soon as it is reached, and back.
  static constexpr int32_t reserved_for(int32_t region) { return -3 - region; }

  // A neighbour of a vertex that is looked at, and the label of that vertex.
  struct Candidate {
    int32_t vertex, label;
  };
  // The neighbours that ranges of vertices find side by side, and the scanned edges.
  struct Halo {
    std::vector<std::vector<Candidate>> candidates;
    int64_t scanned = 0, span = 0;
  };
  // Returns the wanted neighbours of some vertices, in order; some more than once.
  template <class Wanted>
  Halo halo_of(std::span<const int32_t> vertices, Team& team, Wanted wanted) const;

  int32_t divide(const std::vector<int32_t>& boundary, int32_t a, int32_t b, int64_t boundary_of_region,
                 Team& team);
  void find_band(int32_t a, int32_t b, Team& team);
  struct Parts {
    int32_t count = 0;  // none if the band cannot be cut into so many
    bool fewer_may_do = true;
  };
  Parts cut_into_parts(int64_t count);
  int64_t grow_part(int32_t seed, int32_t part, int64_t most);
  int32_t adjacent_part(int32_t part);
  int64_t side_limit(int32_t own, int32_t other, double width) const;

  // A search from the boundary into a block: the vertices in the order in which they were found. Two threads
  // write to theirs all the time, so each has its own cache lines.
  struct alignas(64) Growth {
    int32_t own = 0, other = 0;
    int64_t limit = 0, load = 0;  // of the vertices
    std::vector<int32_t> vertex, depth;
    int64_t scanned = 0, span = 0;  // edges
  };
  void grow_side(const std::vector<int32_t>& boundary, Team& team, Growth& growth);
  void grow_layer(size_t begin, size_t end, int32_t depth, Growth& growth);
  void grow_layer_by_ranges(size_t begin, size_t end, int32_t depth, Team& team, Growth& growth);
  bool may_join(int32_t v, const Growth& growth) const {
    return block_[v] == growth.own && label_[v] < 0;  // The other thread writes labels of the other block.
  }
  void join(int32_t v, int32_t depth, int32_t region, Growth& growth);

  const GraphShape& g_;
  const std::vector<int32_t>& block_;
  const std::vector<int64_t>& load_;
  std::span<const int64_t> max_block_weight_;
  const FlowContext& context_;
  SparseNumbers label_;  // the region of each vertex; kNone between calls
  Growth growth_[2];  // in a and b
  std::vector<int32_t> band_;  // the boundary, and its neighbours
  std::vector<int32_t> part_, seeds_;  // the part grown last; where further ones may begin
  int64_t scanned_edges_ = 0, overlapped_ = 0;
};

}  // namespace hopbytes
