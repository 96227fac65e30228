#include "partition/refinement/region_cuts.hpp"

#include <algorithm>
#include <numeric>

#include "util/parallel.hpp"

namespace hopbytes {

namespace {

// Returns the vertices of the boundary between two blocks.
std::vector<int32_t> vertices_of(const BoundaryVertices& boundary, const AdjacentBlocks& pair) {
  std::vector<int32_t> vertices;
  for (size_t i = pair.begin; i < pair.end; ++i)
    if (vertices.empty() || vertices.back() != boundary[i].vertex) vertices.push_back(boundary[i].vertex);
  return vertices;
}

// Returns the number of vertices and arcs.
int64_t size_of(const GraphShape& g, const FlowRegion& region) {
  int64_t size = std::ssize(region.vertices);
  for (const int32_t v : region.vertices) size += g.degree(v);
  return size;
}

}  // namespace

RegionCuts::RegionCuts(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
                       const std::vector<int64_t>& load, std::span<const int64_t> max_block_weight,
                       const FlowContext& context, RegionWidths& widths, const Control& control)
    : g_(g),
      distance_(distance),
      block_(block),
      max_block_weight_(max_block_weight),
      context_(context),
      widths_(widths),
      control_(control),
      load_(load),
      corridors_(control.threads()),
      flows_(control.threads()),
      work_left_(context.most_work * (g_.arcs() + g_.n)) {}

RegionCuts::~RegionCuts() {
  constexpr int64_t many_vertices = 1 << 16;  // whose arrays take some time to give back
  parallel_for(std::ssize(flows_), g_.n < many_vertices ? Team::alone() : control_.team(),
               [&](int64_t worker) {
                 corridors_[worker].reset();
                 flows_[worker].reset();
               });
}

std::vector<FlowRegion> RegionCuts::regions(const BoundaryVertices& boundary,
                                            const std::vector<AdjacentBlocks>& pairs,
                                            int64_t boundary_of_region) {
  std::vector<std::vector<FlowRegion>> found(pairs.size());
  std::vector<int64_t> work(pairs.size(), 0), span(pairs.size(), 0);
  parallel_ranges(std::ssize(pairs), 1, control_.team(), [&](int32_t worker, int64_t i, int64_t) {
    auto& corridor = corridors_[worker];
    if (!corridor) corridor = std::make_unique<Corridor>(g_, block_, load_, max_block_weight_, context_);
    const int32_t a = pairs[i].a, b = pairs[i].b;
    const std::vector<int32_t> vertices = vertices_of(boundary, pairs[i]);
    if (!may_differ(a, b, vertices)) return;
    found[i] = corridor->regions(vertices, a, b, widths_.width(a, b, context_.width),
                                 widths_.width(b, a, context_.width), boundary_of_region, control_.team());
    work[i] = corridor->scanned_edges(), span[i] = corridor->span();
    std::erase_if(found[i], [&](const FlowRegion& region) { return !may_differ(a, b, region.vertices); });
  });
  record(work, span);
  std::vector<FlowRegion> all;
  for (std::vector<FlowRegion>& of_pair : found)
    for (FlowRegion& region : of_pair) all.push_back(std::move(region));
  return all;
}

void RegionCuts::look_only_near(std::span<const int32_t> moved) {
  near_moves_.assign(g_.n, 0);
  for (const int32_t v : moved) {
    near_moves_[v] = 1;
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) near_moves_[g_.adj[e]] = 1;
  }
}

bool RegionCuts::may_differ(int32_t a, int32_t b, std::span<const int32_t> vertices) const {
  if (near_moves_.empty() || narrowed_.contains(a * std::ssize(load_) + b)) return true;
  return std::any_of(vertices.begin(), vertices.end(), [&](int32_t v) { return near_moves_[v] != 0; });
}

// Divides the work that is left in proportion to the sizes of the regions: if many blocks are adjacent to
// each other (random graphs), every pair frees large parts of both blocks, O(k m) in total.
std::vector<int64_t> RegionCuts::shares_of_work(const std::vector<FlowRegion>& regions) const {
  constexpr int64_t regions_per_range = 8;
  std::vector<int64_t> share(regions.size());
  parallel_ranges(std::ssize(regions), regions_per_range, control_.team(),
                  [&](int32_t, int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) share[i] = size_of(g_, regions[i]);
                  });
  const auto total = static_cast<double>(std::accumulate(share.begin(), share.end(), int64_t{0}));
  for (int64_t& part : share)
    part = static_cast<int64_t>(static_cast<double>(work_left_) * (static_cast<double>(part) / total));
  return share;
}

void RegionCuts::improve(const std::vector<FlowRegion>& regions, std::vector<int32_t>& moved,
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
    if (!flow) flow = std::make_unique<PairFlow>(g_, distance_, block_, load_, max_block_weight_, control_);
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

// Narrows a side once, in however many regions of the pair it failed.
void RegionCuts::narrow_where_too_wide(const std::vector<FlowRegion>& regions,
                                       const std::vector<PairFlow::Result>& results) {
  const int64_t k = std::ssize(load_);
  std::unordered_set<int64_t> sides;
  narrowed_.clear();
  for (size_t i = 0; i < regions.size(); ++i) {
    const int32_t a = regions[i].a, b = regions[i].b;
    if (results[i].overloads_a && sides.insert(b * k + a).second) widths_.narrow(b, a);
    if (results[i].overloads_b && sides.insert(a * k + b).second) widths_.narrow(a, b);
    if (results[i].overloads_a || results[i].overloads_b) narrowed_.insert(a * k + b);
  }
}

void RegionCuts::record(const std::vector<int64_t>& work, const std::vector<int64_t>& span) {
  if (work.empty()) return;
  const int64_t total = std::accumulate(work.begin(), work.end(), int64_t{0});
  control_.record_parallel_work(total, *std::max_element(span.begin(), span.end()));
  work_left_ -= total;
}

// Makes the moves whose vertices have not been moved by others, and undoes them if this does not lower the
// cost or overloads a block. Returns whether it made them.
bool RegionCuts::apply(const FlowRegion& region, std::vector<PairFlow::Move>& moves) {
  const auto origin = [&](const PairFlow::Move& move) { return move.to == region.a ? region.b : region.a; };
  std::erase_if(moves, [&](const PairFlow::Move& move) { return block_[move.vertex] != origin(move); });
  int64_t gain = 0;
  for (const PairFlow::Move& move : moves) {
    const auto [v, to] = move;
    const int32_t from = origin(move);
    if (g_.linear_cost) gain += (*g_.linear_cost)(v, from) - (*g_.linear_cost)(v, to);
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t other = block_[g_.adj[e]];
      gain += g_.weight[e] * (distance_(from, other) - distance_(to, other));
    }
    scanned_ += g_.degree(v);
    change_block(v, from, to);
  }
  const auto fits = [&](int32_t b) { return load_[b] <= max_block_weight_[b]; };
  if (gain > 0 && fits(region.a) && fits(region.b)) return true;
  for (const PairFlow::Move& move : moves) change_block(move.vertex, move.to, origin(move));
  return false;
}

void RegionCuts::change_block(int32_t v, int32_t from, int32_t to) {
  load_[from] -= g_.load[v];
  load_[to] += g_.load[v];
  block_[v] = to;
}

}  // namespace hopbytes
