// Minimum cuts between two blocks under any distance.
//
// A region around the boundary of blocks a and b is freed; the rest of a becomes the source, the rest of b
// the sink. An edge inside the region costs w d(a,b) if it is cut. Every neighbour outside the region, in
// third blocks as well, makes a vertex cheaper on one side: the difference becomes a terminal capacity. A
// minimum cut is therefore the best reassignment of the region. The present cut is usually a minimum cut
// already, which is cheap to verify (minimum_cut_certificate.hpp). Otherwise, if the minimum cut violates a
// maximum block weight, the smaller side absorbs what it reaches and one more vertex ("piercing", after
// FlowCutter: Hamann, Strasser 2018), and the flow is augmented until the maximum weights hold or the flow
// reaches the present cost.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "max_flow.hpp"
#include "minimum_cut_certificate.hpp"
#include "work_graph.hpp"

namespace hopbytes {

struct FlowOptions {
  int32_t rounds = 2;  // passes over the pairs of blocks that changed; 0 turns flow refinement off
  double width = 16;  // load of the region on each side, in units of the free room
  int64_t max_region = 20000;  // vertices per side
  int64_t most_work = 200;  // scanned edges in total, per arc and vertex of the graph
};

// Only the construction of the network depends on the types of weights and distances.
class PairFlow {
 public:
  PairFlow(const GraphShape& g, int32_t* part, std::vector<int64_t>& load, const int64_t* max_block_weight,
           const FlowOptions& options, const Control& control)
      : g_(g),
        part_(part),
        load_(load),
        max_block_weight_(max_block_weight),
        options_(options),
        control_(control),
        work_left_(options.most_work * (g.arcs() + g.n)),
        certificate_(net_, work_left_, control),
        flow_(net_, work_left_, control),
        local_(g.n, -1) {}

  // Returns whether to stop: the time is up, or the work that one call may cost is used up. If many blocks
  // are adjacent to each other (random graphs), every pair frees large parts of both blocks, O(k m) in total.
  bool stop() const { return work_left_ < 0 || control_.should_stop(); }

  int64_t work_left() const { return work_left_; }

  // Tries to improve the cut between a and b, given the vertices on their boundary. `build` calls the method
  // of that name with the graph of the constructor. Returns the gain.
  int64_t improve(const std::function<void(PairFlow&)>& build, int32_t a, int32_t b,
                  const std::vector<int32_t>& boundary) {
    a_ = a, b_ = b;
    int64_t gain = 0;
    if (collect_region(boundary)) {
      build(*this);
      if (!is_minimum_cut() && !stop()) {
        open_cut();
        gain = solve();
      }
    }
    for (int32_t v : region_) local_[v] = -1;
    return gain;
  }

  // Builds the network. An arc costs its weight times the distance of the blocks. A vertex has a supply (or
  // demand) equal to what its neighbours outside the region make it cost more in b (or in a). Arcs across the
  // present cut start saturated: their flow becomes a supply at the end in b and a demand at the end in a,
  // and nothing may flow back for now. Also computes the load outside the region.
  template <class W, class D> void build(const WorkGraph<W>& g, const D& distance) {
    const int32_t n = static_cast<int32_t>(region_.size());
    net_.clear(n);
    fixed_[0] = load_[a_], fixed_[1] = load_[b_];
    back_.clear();
    const int64_t across = distance(a_, b_);
    for (int32_t i = 0; i < n; ++i) {
      const int32_t v = region_[i];
      const bool in_b = i >= in_a_;
      fixed_[in_b] -= g.load[v];
      net_.open(g.load[v]);
      int64_t terminal_weight = g.linear_cost ? (*g.linear_cost)(v, b_) - (*g.linear_cost)(v, a_) : 0;
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t u = g.adj[e], j = local_[u];
        const int64_t w = g.weight[e];
        if (j < 0) {
          terminal_weight += w * (distance(b_, part_[u]) - distance(a_, part_[u]));
        } else if ((j >= in_a_) == in_b) {
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

 private:
  // The number of layers that are freed on each side. Better cuts that are farther away are found on coarser
  // graphs, where a layer is thicker. Freeing as much as the maximum block weights permit made flow
  // refinement of large graphs superlinear.
  static constexpr int32_t kDeepest = 8;

  int64_t side_limit(int32_t own, int32_t other) const {
    const int64_t room = max_block_weight_[other] - load_[other];
    const int64_t slack =
        std::max<int64_t>(0, (max_block_weight_[a_] - load_[a_] + max_block_weight_[b_] - load_[b_]) / 2);
    const int64_t most = load_[own] - 1 - load_[own] / 4;
    const double more = (options_.width - 1) * static_cast<double>(slack);
    return room >= most || more >= static_cast<double>(most - room) ? most
                                                                    : room + static_cast<int64_t>(more);
  }

  // Breadth-first search from the boundary into each block, up to the limits of load and depth: vertices in a
  // first, then those in b. Returns false if the region is empty or has more arcs than int32 can index.
  bool collect_region(const std::vector<int32_t>& boundary) {
    region_.clear();
    depth_.clear();
    for (const int32_t own : {a_, b_}) {
      const int64_t limit = side_limit(own, own == a_ ? b_ : a_);
      int64_t load = 0;
      const size_t begin = region_.size();
      auto add = [&](int32_t v, int32_t depth) {
        if (g_.linear_cost && !g_.linear_cost->allows(v, own == a_ ? b_ : a_)) return;
        if (local_[v] >= 0 || part_[v] != own || load + g_.load[v] > limit ||
            static_cast<int64_t>(region_.size() - begin) >= options_.max_region)
          return;
        local_[v] = static_cast<int32_t>(region_.size());
        region_.push_back(v);
        depth_.push_back(depth);
        load += g_.load[v];
      };
      for (int32_t v : boundary) add(v, 0);
      for (size_t i = begin; i < region_.size() && depth_[i] < kDeepest; ++i)
        for (int64_t e = g_.start[region_[i]]; e < g_.start[region_[i] + 1]; ++e)
          add(g_.adj[e], depth_[i] + 1);
      if (own == a_) in_a_ = static_cast<int32_t>(region_.size());
    }
    int64_t arcs = 0;
    for (int32_t v : region_) arcs += g_.degree(v);
    work_left_ -= 2 * (std::ssize(region_) + arcs) + std::ssize(boundary);
    return !region_.empty() && arcs <= std::numeric_limits<int32_t>::max();
  }

  // Returns whether the present assignment is a minimum cut. If only one side fails, the flow on the other
  // side remains usable.
  bool is_minimum_cut() {
    const bool fits_b = certificate_.route_excess(in_a_, net_.n(), false);
    const bool fits_a = certificate_.route_excess(0, in_a_, true);
    return fits_a && fits_b;
  }

  // Allows flow back across the cut. The unrouted excess is the cost of the present assignment.
  void open_cut() {
    for (const auto& [arc, capacity] : back_) net_[arc].residual = capacity;
    present_ = 0;
    for (int32_t i = 0; i < net_.n(); ++i)
      present_ += std::max<int64_t>(0, i < in_a_ ? -net_.terminal(i) : net_.terminal(i));
    flow_.start();
    for (auto& candidates : candidates_) candidates.clear();
    seen_.assign(net_.n(), 0);
  }

  int64_t solve() {
    int64_t flow = 0;
    for (int32_t turn = 0;; ++turn) {
      flow += flow_.augment(present_ - flow);
      if (flow >= present_ || stop()) return 0;
      const int64_t load_s = fixed_[0] + flow_.load(Side::kSource),
                    load_t = fixed_[1] + flow_.load(Side::kSink);
      const int64_t load_free = load_[a_] + load_[b_] - load_s - load_t;
      const bool free_to_sink =
          load_s <= max_block_weight_[a_] && load_t + load_free <= max_block_weight_[b_];
      const bool free_to_source =
          load_s + load_free <= max_block_weight_[a_] && load_t <= max_block_weight_[b_];
      if (free_to_sink || free_to_source) {
        // If both assignments of the free vertices fit, the better balanced one is taken.
        const bool to_source = free_to_source && (!free_to_sink || std::max(load_s + load_free, load_t) <
                                                                       std::max(load_s, load_t + load_free));
        apply(to_source);
        return present_ - flow;
      }
      if (load_s > max_block_weight_[a_] || load_t > max_block_weight_[b_] || turn > 200) return 0;
      const int64_t forced = pierce(
          load_s - max_block_weight_[a_] <= load_t - max_block_weight_[b_] ? Side::kSource : Side::kSink);
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
      const int32_t depth = part_[region_[i]] == own ? depth_[i] + 1 : -depth_[i];
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

  void apply(bool free_to_source) {
    for (int32_t i = 0; i < static_cast<int32_t>(region_.size()); ++i) {
      const int32_t v = region_[i];
      const Side side = flow_.side(i);
      const int32_t to = side == Side::kSource || (side == Side::kFree && free_to_source) ? a_ : b_;
      load_[part_[v]] -= g_.load[v];
      load_[to] += g_.load[v];
      part_[v] = to;
    }
  }

  const GraphShape& g_;
  int32_t* part_;
  std::vector<int64_t>& load_;
  const int64_t* max_block_weight_;
  FlowOptions options_;
  const Control& control_;
  int64_t work_left_;
  FlowNetwork net_;
  MinimumCutCertificate certificate_;
  MaxFlow flow_;
  int32_t a_ = 0, b_ = 0;
  int64_t present_ = 0;
  int64_t fixed_[2] = {0, 0};
  int32_t in_a_ = 0;  // number of vertices of the region in a
  std::vector<int32_t> local_, region_, depth_;
  // arcs from b to a, with the capacity they get when the cut is opened
  std::vector<std::pair<int32_t, int64_t>> back_;
  std::vector<int32_t> candidates_[2];  // vertices adjacent to each fixed side; may hold some that were taken
  std::vector<uint8_t> seen_;  // bit set of the candidate lists that a vertex was added to
};

}  // namespace hopbytes
