// Minimum cuts in many regions at the same time.
#pragma once
#include <unordered_set>

#include "partition/refinement/block_boundaries.hpp"
#include "partition/refinement/pair_flow.hpp"
#include "partition/refinement/region_widths.hpp"

namespace hopbytes {

// All cuts are computed for the same blocks and loads. The moves are then made region by region, in the order
// of the regions, where they still lower the cost and overload no block: a region may share vertices, edges
// and blocks with others. So the result does not depend on the number of threads.
class RegionCuts {
 public:
  // The blocks change until the caller hands the moved vertices to the partition. The widths are kept by
  // reference, and change where cuts fail by them.
  RegionCuts(BlocksToCut blocks, RegionWidths& widths)
      : blocks_(std::move(blocks)),
        g_(blocks_.g),
        control_(blocks_.control),
        widths_(widths),
        corridors_(control_.threads()),
        flows_(control_.threads()),
        work_left_(blocks_.context.most_work * (g_.arcs() + g_.n)) {}

  RegionCuts(const RegionCuts&) = delete;
  ~RegionCuts() {
    constexpr int64_t many_vertices = 1 << 16;  // whose arrays take some time to give back
    parallel_for(std::ssize(flows_), g_.n < many_vertices ? Team::alone() : control_.team(),
                 [&](int64_t worker) {
                   corridors_[worker].reset();
                   flows_[worker].reset();
                 });
  }

  const std::vector<int64_t>& loads() const { return blocks_.load; }

  // Whether all the work that the context permits is done.
  bool exhausted() const { return work_left_ < 0; }

  // Makes regions() leave out those in which nothing is new after these moves: no vertex moved on or beside
  // the boundary of the blocks, or in or beside the region, and the last cut between the blocks did not fail
  // because of its width.
  void look_only_near(std::span<const int32_t> moved) {
    near_moves_.assign(g_.n, 0);
    for (const int32_t v : moved) {
      near_moves_[v] = 1;
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) near_moves_[g_.adj[e]] = 1;
    }
  }

  // Returns the regions around the boundaries of some pairs, see Corridor.
  std::vector<FlowRegion> regions(const BoundaryVertices& boundary, const std::vector<AdjacentBlocks>& pairs,
                                  int64_t boundary_of_region) {
    std::vector<std::vector<FlowRegion>> found(pairs.size());
    std::vector<int64_t> work(pairs.size(), 0), span(pairs.size(), 0);
    parallel_ranges(std::ssize(pairs), 1, control_.team(), [&](int32_t worker, int64_t i, int64_t) {
      auto& corridor = corridors_[worker];
      if (!corridor) corridor = std::make_unique<Corridor>(blocks_);
      const int32_t a = pairs[i].a, b = pairs[i].b;
      const std::vector<int32_t> vertices = pairs[i].vertices(boundary);
      if (!may_differ(a, b, vertices)) return;
      found[i] =
          corridor->regions(vertices, a, b, widths_.width(a, b, blocks_.context.width),
                            widths_.width(b, a, blocks_.context.width), boundary_of_region, control_.team());
      work[i] = corridor->scanned_edges(), span[i] = corridor->span();
      std::erase_if(found[i], [&](const FlowRegion& region) { return !may_differ(a, b, region.vertices); });
    });
    record(work, span);
    std::vector<FlowRegion> all;
    for (std::vector<FlowRegion>& of_pair : found)
      for (FlowRegion& region : of_pair) all.push_back(std::move(region));
    return all;
  }

  // Improves all regions. Appends the vertices that have moved, and marks their blocks as changed.
  void improve(const std::vector<FlowRegion>& regions, std::vector<int32_t>& moved,
               std::vector<uint8_t>& changed) {
    std::vector<PairFlow::Result> results(regions.size());
    std::vector<int64_t> work = shares_of_work(regions), span(regions.size());
    // The largest ones begin first, so that the threads end at about the same time.
    std::vector<int64_t> order(regions.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return work[i] > work[j]; });
    control_.team().run(std::ssize(order), [&](int32_t worker, int64_t position) {
      const int64_t i = order[position];
      auto& flow = flows_[worker];
      if (!flow) flow = std::make_unique<PairFlow>(blocks_);
      results[i] = flow->improve(regions[i], work[i], control_.team());
      work[i] = results[i].work, span[i] = results[i].span;
    });
    record(work, span);
    narrow_where_too_wide(regions, results);
    scanned_ = 0;
    for (size_t i = 0; i < regions.size(); ++i) {
      if (results[i].gain <= 0 || !apply(regions[i], results[i].moves)) continue;
      changed[regions[i].a] = changed[regions[i].b] = 1;
      for (const PairFlow::Move& move : results[i].moves) moved.push_back(move.vertex);
    }
    control_.record_work(scanned_);
  }

 private:
  // Whether a cut of these vertices may find something that the one before did not.
  bool may_differ(int32_t a, int32_t b, std::span<const int32_t> vertices) const {
    if (near_moves_.empty() || narrowed_.contains(a * std::ssize(blocks_.load) + b)) return true;
    return std::any_of(vertices.begin(), vertices.end(), [&](int32_t v) { return near_moves_[v] != 0; });
  }

  // Narrows a side once, in however many regions of the pair it failed.
  void narrow_where_too_wide(const std::vector<FlowRegion>& regions,
                             const std::vector<PairFlow::Result>& results) {
    const int64_t k = std::ssize(blocks_.load);
    std::unordered_set<int64_t> sides;
    narrowed_.clear();
    for (size_t i = 0; i < regions.size(); ++i) {
      const int32_t a = regions[i].a, b = regions[i].b;
      if (results[i].overloads_a && sides.insert(b * k + a).second) widths_.narrow(b, a);
      if (results[i].overloads_b && sides.insert(a * k + b).second) widths_.narrow(a, b);
      if (results[i].overloads_a || results[i].overloads_b) narrowed_.insert(a * k + b);
    }
  }

  void record(const std::vector<int64_t>& work, const std::vector<int64_t>& span) {
    if (work.empty()) return;
    const int64_t total = std::accumulate(work.begin(), work.end(), int64_t{0});
    control_.record_parallel_work(total, *std::max_element(span.begin(), span.end()));
    work_left_ -= total;
  }

  // Divides the work that is left in proportion to the sizes of the regions: if many blocks are adjacent to
  // each other (random graphs), every pair frees large parts of both blocks, O(k m) in total.
  std::vector<int64_t> shares_of_work(const std::vector<FlowRegion>& regions) const {
    constexpr int64_t regions_per_range = 8;
    std::vector<int64_t> share(regions.size());
    parallel_ranges(std::ssize(regions), regions_per_range, control_.team(),
                    [&](int32_t, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        share[i] = std::ssize(regions[i].vertices);
                        for (const int32_t v : regions[i].vertices) share[i] += g_.degree(v);
                      }
                    });
    const auto total = static_cast<double>(std::accumulate(share.begin(), share.end(), int64_t{0}));
    for (int64_t& part : share)
      part = static_cast<int64_t>(static_cast<double>(work_left_) * (static_cast<double>(part) / total));
    return share;
  }

  // Makes the moves whose vertices have not been moved by others, and undoes them if this does not lower the
  // cost or overloads a block. Returns whether it made them.
  bool apply(const FlowRegion& region, std::vector<PairFlow::Move>& moves) {
    const auto origin = [&](const PairFlow::Move& move) { return move.to == region.a ? region.b : region.a; };
    std::erase_if(moves,
                  [&](const PairFlow::Move& move) { return blocks_.block[move.vertex] != origin(move); });
    int64_t gain = 0;
    for (const PairFlow::Move& move : moves) {
      const auto [v, to] = move;
      const int32_t from = origin(move);
      if (g_.linear_cost) gain += (*g_.linear_cost)(v, from) - (*g_.linear_cost)(v, to);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t other = blocks_.block[g_.adj[e]];
        gain += g_.weight[e] * (blocks_.distance(from, other) - blocks_.distance(to, other));
      }
      scanned_ += g_.degree(v);
      change_block(v, from, to);
    }
    const auto fits = [&](int32_t b) { return blocks_.room(b) >= 0; };
    if (gain > 0 && fits(region.a) && fits(region.b)) return true;
    for (const PairFlow::Move& move : moves) change_block(move.vertex, move.to, origin(move));
    return false;
  }

  void change_block(int32_t v, int32_t from, int32_t to) {
    blocks_.load[from] -= g_.load[v];
    blocks_.load[to] += g_.load[v];
    blocks_.block[v] = to;
  }

  BlocksToCut blocks_;
  const AnyGraph& g_;
  const Control& control_;
  RegionWidths& widths_;
  std::vector<std::unique_ptr<Corridor>> corridors_;  // of each thread
  std::vector<std::unique_ptr<PairFlow>> flows_;      // of each thread
  int64_t work_left_;
  std::vector<uint8_t> near_moves_;  // whether a vertex or a neighbour moved; empty: all may have
  std::unordered_set<int64_t> narrowed_;  // the pairs a * k + b whose regions the last cuts made narrower
  int64_t scanned_ = 0;  // edges looked at by the last applications
};

}  // namespace hopbytes
