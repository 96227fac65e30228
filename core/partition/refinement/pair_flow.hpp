// Minimum cuts between two blocks under any distance.
//
// A region at the boundary of blocks a and b is freed (corridor.hpp); the rest of a becomes the source,
// the rest of b the sink. An edge inside the region costs w d(a,b) if it is cut. Every neighbour outside
// the region, in third blocks as well, makes a vertex cheaper on one side: the difference becomes a
// terminal capacity. A minimum cut is therefore the best reassignment of the region. The present cut is
// usually a minimum cut already, which is cheap to verify (minimum_cut_certificate.hpp). Otherwise, if
// the minimum cut violates a maximum block weight, the smaller side absorbs what it reaches and one more
// vertex ("piercing", after FlowCutter: Hamann, Strasser 2018), and the flow is augmented until the
// maximum weights hold or the flow reaches the present cost.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"
#include "util/control.hpp"
#include "partition/refinement/corridor.hpp"
#include "partition/refinement/max_flow.hpp"
#include "partition/refinement/minimum_cut_certificate.hpp"

namespace hopbytes {

class PairFlow {
 public:
  // All arguments are kept by reference; only their values change between calls.
  PairFlow(const AnyGraph& g, const AnyDistance& distance, const std::vector<int32_t>& block,
           const std::vector<int64_t>& load, std::span<const int64_t> max_block_weight,
           const Control& control)
      : g_(g),
        distance_(distance),
        block_(block),
        load_(load),
        max_block_weight_(max_block_weight),
        control_(control),
        certificate_{{net_, work_of_side_[0].left, control}, {net_, work_of_side_[1].left, control}},
        flow_(net_, work_left_, control),
        local_(g.n) {}

  struct Move {
    int32_t vertex, to;
  };
  struct Result {
    int64_t gain = 0, work = 0;  // in scanned edges
    int64_t span = 0;            // of the work: the two sides of a large region are looked at side by side
    bool overloads_a = false, overloads_b = false;  // whether every minimum cut would move too much there
    std::vector<Move> moves;
  };

  // Computes moves inside a region that lower the cost; ends when `most_work` is used up. Blocks and loads
  // are left as they are. The result does not depend on the number of threads.
  Result improve(const FlowRegion& region, int64_t most_work, Team& team = Team::alone());

 private:
  // Builds the network. An arc costs its weight times the distance of the blocks. A vertex has a supply (or
  // demand) equal to what its neighbours outside the region make it cost more in b (or in a). Arcs across the
  // present cut start saturated: their flow becomes a supply at the end in b and a demand at the end in a,
  // and nothing may flow back for now. Also computes the load outside the region.
  void build();
  // `outside(block)` is the distance of b from a block minus that of a.
  template <class Outside> void build_network(int64_t across, Outside outside);

  bool stop() const { return work_left_ < 0 || control_.should_stop(); }

  // Returns false if the region has more arcs than int32 can index.
  bool number_vertices();

  // Returns whether the present assignment is a minimum cut. If only one side fails, the flow on the other
  // side remains usable.
  bool is_minimum_cut(Team& team);

  // Allows flow back across the cut. The unrouted excess is the cost of the present assignment.
  void open_cut();

  // Returns the gain.
  int64_t solve(Result& result);

  // Adds all vertices that the side reaches to the side, and adjacent vertices as well: first those that open
  // no augmenting path, and among these the ones deepest inside the side's own block. Returns the additional
  // cost, which arises if a vertex with unmet demand becomes a source (or the reverse), or -1 if there is no
  // candidate.
  int64_t pierce(Side side);

  void list_moves(bool free_to_source, std::vector<Move>& moves);

  // Two threads write to theirs all the time, so each has its own cache line.
  struct alignas(64) Budget {
    int64_t left = 0;
  };

  const AnyGraph& g_;
  const AnyDistance& distance_;
  const std::vector<int32_t>& block_;
  const std::vector<int64_t>& load_;
  std::span<const int64_t> max_block_weight_;
  const Control& control_;
  int64_t work_left_ = 0, overlapped_ = 0;
  Budget work_of_side_[2];  // left to the search on each side
  FlowNetwork net_;
  MinimumCutCertificate certificate_[2];
  MaxFlow flow_;
  int32_t a_ = 0, b_ = 0;
  int64_t present_ = 0;
  int64_t fixed_[2] = {0, 0};
  const FlowRegion* region_ = nullptr;
  SparseNumbers local_;  // number of each vertex in the region; -1 outside
  // arcs from b to a, with the capacity they get when the cut is opened
  std::vector<std::pair<int32_t, int64_t>> back_;
  std::vector<int32_t> candidates_[2];  // vertices adjacent to each fixed side; may hold some that were taken
  std::vector<uint8_t> seen_;  // bit set of the candidate lists that a vertex was added to
};

}  // namespace hopbytes
