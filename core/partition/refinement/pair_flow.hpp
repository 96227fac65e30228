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
#include <limits>
#include <tuple>

#include "partition/refinement/corridor.hpp"
#include "partition/refinement/max_flow.hpp"
#include "partition/refinement/minimum_cut_certificate.hpp"

namespace hopbytes {

class PairFlow {
 public:
  // The blocks are kept by reference.
  explicit PairFlow(const BlocksToCut& blocks)
      : blocks_(blocks),
        g_(blocks.g),
        certificate_{{net_, work_of_side_[0].left, blocks.control},
                     {net_, work_of_side_[1].left, blocks.control}},
        flow_(net_, work_left_, blocks.control),
        local_(g_.n) {}

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
  Result improve(const FlowRegion& region, int64_t most_work, Team& team = Team::alone()) {
    region_ = &region;
    a_ = region.a, b_ = region.b, work_left_ = most_work, overlapped_ = 0;
    Result result;
    if (number_vertices()) {
      build();
      if (!is_minimum_cut(team) && !stop()) {
        open_cut();
        result.gain = solve(result);
      }
    }
    for (const int32_t v : region.vertices) local_[v] = -1;
    result.work = most_work - work_left_;
    result.span = result.work - overlapped_;
    return result;
  }

 private:
  // Builds the network. An arc costs its weight times the distance of the blocks. A vertex has a supply (or
  // demand) equal to what its neighbours outside the region make it cost more in b (or in a). Arcs across the
  // present cut start saturated: their flow becomes a supply at the end in b and a demand at the end in a,
  // and nothing may flow back for now. Also computes the load outside the region.
  void build() {
    const int32_t a = a_, b = b_;
    if (blocks_.distance.flat())
      return build_network(1, [a, b](int32_t other) { return int64_t{other != b} - int64_t{other != a}; });
    const auto from_blocks = [&](int32_t other) {
      return blocks_.distance(b, other) - blocks_.distance(a, other);
    };
    const int64_t of_a = from_blocks(a), of_b = from_blocks(b);  // most neighbours outside are in these two
    build_network(blocks_.distance(a, b), [&, of_a, of_b](int32_t other) {
      return other == a ? of_a : other == b ? of_b : from_blocks(other);
    });
  }

  // `outside(block)` is the distance of b from a block minus that of a.
  template <class Outside> void build_network(int64_t across, Outside outside) {
    constexpr int32_t ahead = 4;
    const GraphShape& g = g_;
    const AnyGraph::AnyWeights weight = g_.weight;  // copies, because the network is written in between
    const int32_t *adj = g.adj, *block = blocks_.block.data();
    const SparseNumbers::Reader local = local_.reader();
    const int32_t n = static_cast<int32_t>(region_->vertices.size()), in_a = region_->in_a;
    net_.clear(n);
    fixed_[0] = blocks_.load[a_], fixed_[1] = blocks_.load[b_];
    back_.clear();
    for (int32_t i = 0; i < n; ++i) {
      const int32_t v = region_->vertices[i];
      const bool in_b = i >= in_a;
      if (i + ahead < n) __builtin_prefetch(adj + g.start[region_->vertices[i + ahead]]);
      fixed_[in_b] -= g.load[v];
      net_.open(g.load[v]);
      int64_t terminal_weight = g.linear_cost ? (*g.linear_cost)(v, b_) - (*g.linear_cost)(v, a_) : 0;
      for (int64_t e = g.start[v], end = g.start[v + 1]; e < end; ++e) {
        const int32_t u = adj[e], j = local[u];
        const int64_t w = weight[e];
        if (j < 0) {
          terminal_weight += w * outside(block[u]);
        } else if ((j >= in_a) == in_b) {
          net_.connect(j, w * across);
        } else {
          const int32_t arc = net_.connect(j, 0);
          if (in_b) back_.push_back({arc, 2 * w * across});
          terminal_weight += in_b ? w * across : -w * across;
        }
      }
      net_.supply(terminal_weight);
    }
    net_.close();
  }

  bool stop() const { return work_left_ < 0 || blocks_.control.should_stop(); }

  // Returns false if the region has more arcs than int32 can index.
  bool number_vertices() {
    int64_t arcs = 0;
    for (size_t i = 0; i < region_->vertices.size(); ++i) {
      const int32_t v = region_->vertices[i];
      local_[v] = static_cast<int32_t>(i);
      arcs += g_.degree(v);
    }
    work_left_ -= std::ssize(region_->vertices) + arcs;
    return arcs <= std::numeric_limits<int32_t>::max();
  }

  // Returns whether the present assignment is a minimum cut. If only one side fails, the flow on the other
  // side remains usable.
  bool is_minimum_cut(Team& team) {
    constexpr int32_t many_vertices = 1 << 11;  // Smaller regions are cut faster than a thread is started.
    const bool large = net_.n() >= many_vertices;
    bool fits[2];
    for (Budget& budget : work_of_side_) budget.left = work_left_;
    parallel_for(2, large ? team : Team::alone(), [&](int64_t side) {
      fits[side] = side == 0 ? certificate_[0].route_excess(0, region_->in_a, true)
                             : certificate_[1].route_excess(region_->in_a, net_.n(), false);
    });
    const int64_t of_a = work_left_ - work_of_side_[0].left, of_b = work_left_ - work_of_side_[1].left;
    work_left_ -= of_a + of_b;
    if (large) overlapped_ = std::min(of_a, of_b);
    return fits[0] && fits[1];
  }

  // Allows flow back across the cut. The unrouted excess is the cost of the present assignment.
  void open_cut() {
    for (const auto& [arc, capacity] : back_) net_[arc].residual = capacity;
    present_ = 0;
    for (int32_t i = 0; i < net_.n(); ++i)
      present_ += std::max<int64_t>(0, i < region_->in_a ? -net_.terminal(i) : net_.terminal(i));
    flow_.start();
    for (auto& candidates : candidates_) candidates.clear();
    seen_.assign(net_.n(), 0);
  }

  int64_t solve(Result& result) {
    int64_t flow = 0;
    for (int32_t turn = 0;; ++turn) {
      flow += flow_.augment(present_ - flow);
      if (flow >= present_ || stop()) return 0;
      const int64_t load_s = fixed_[0] + flow_.load(Side::kSource),
                    load_t = fixed_[1] + flow_.load(Side::kSink);
      const int64_t load_free = blocks_.load[a_] + blocks_.load[b_] - load_s - load_t;
      const bool free_to_sink =
          load_s <= blocks_.max_block_weight[a_] && load_t + load_free <= blocks_.max_block_weight[b_];
      const bool free_to_source =
          load_s + load_free <= blocks_.max_block_weight[a_] && load_t <= blocks_.max_block_weight[b_];
      if (free_to_sink || free_to_source) {
        // If both assignments of the free vertices fit, the better balanced one is taken.
        const bool to_source = free_to_source && (!free_to_sink || std::max(load_s + load_free, load_t) <
                                                                       std::max(load_s, load_t + load_free));
        list_moves(to_source, result.moves);
        return present_ - flow;
      }
      result.overloads_a = load_s > blocks_.max_block_weight[a_],
      result.overloads_b = load_t > blocks_.max_block_weight[b_];
      if (result.overloads_a || result.overloads_b || turn > 200) return 0;
      const int64_t forced = pierce(
          load_s - blocks_.max_block_weight[a_] <= load_t - blocks_.max_block_weight[b_] ? Side::kSource
                                                                                         : Side::kSink);
      if (forced < 0) return 0;
      flow += forced;
    }
  }

  // Adds all vertices that the side reaches to the side, and adjacent vertices as well: first those that open
  // no augmenting path, and among these the ones deepest inside the side's own block. Returns the additional
  // cost, which arises if a vertex with unmet demand becomes a source (or the reverse), or -1 if there is no
  // candidate.
  int64_t pierce(Side side) {
    const int32_t own = side == Side::kSource ? a_ : b_;
    std::vector<int32_t>& candidates = candidates_[side == Side::kSink];
    const uint8_t bit = side == Side::kSource ? 1 : 2;
    flow_.fix(side, [&](int32_t i) {
      if (!(seen_[i] & bit)) seen_[i] |= bit, candidates.push_back(i);
    });
    std::erase_if(candidates, [&](int32_t i) { return flow_.side(i) == side; });
    if (candidates.empty()) return -1;
    auto rank = [&](int32_t i) {
      const int32_t layer = region_->depth[i],
                    depth = (i < region_->in_a ? a_ : b_) == own ? layer + 1 : -layer;
      return std::tuple(flow_.side(i) != Side::kFree, -depth, i);
    };
    auto before = [&](int32_t x, int32_t y) { return rank(x) < rank(y); };
    const auto taken = std::max<std::ptrdiff_t>(1, std::ssize(candidates) / 20);
    std::nth_element(candidates.begin(), candidates.begin() + taken - 1, candidates.end(), before);
    std::sort(candidates.begin(), candidates.begin() + taken, before);
    // Takes several vertices while this opens no augmenting path, otherwise a single one.
    int64_t forced = 0;
    for (std::ptrdiff_t i = 0; i < taken; ++i) {
      if (i > 0 && flow_.side(candidates[i]) != Side::kFree) break;
      forced += flow_.assign(side, candidates[i]);
    }
    return forced;
  }

  void list_moves(bool free_to_source, std::vector<Move>& moves) {
    for (int32_t i = 0; i < net_.n(); ++i) {
      const Side side = flow_.side(i);
      const bool to_a = side == Side::kSource || (side == Side::kFree && free_to_source);
      if (to_a != (i < region_->in_a)) moves.push_back({region_->vertices[i], to_a ? a_ : b_});
    }
  }

  // Two threads write to theirs all the time, so each has its own cache line.
  struct alignas(64) Budget {
    int64_t left = 0;
  };

  const BlocksToCut& blocks_;
  const AnyGraph& g_;
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
