// The surroundings of the boundary between two blocks, divided into regions of bounded size.
#pragma once
#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"
#include "partition/context.hpp"
#include "util/control.hpp"
#include "util/zeroed_array.hpp"

namespace hopbytes {

// The blocks of a graph between which minimum cuts are searched.
struct BlocksToCut {
  const AnyGraph& g;
  const AnyDistance& distance;
  std::vector<int32_t>& block;
  std::vector<int64_t> load;  // of each block
  std::span<const int64_t> max_block_weight;
  const FlowContext& context;
  const Control& control;

  int64_t room(int32_t b) const { return max_block_weight[b] - load[b]; }
};

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
  // The blocks are kept by reference.
  explicit Corridor(const BlocksToCut& blocks) : blocks_(blocks), g_(blocks.g), label_(g_.n) {}

  // Returns the regions around the boundary of a and b, given its vertices: so many of them a region, about;
  // 0 for a single region. The widths are those of the parts of a and b, see RegionWidths. The result does
  // not depend on the number of threads.
  std::vector<FlowRegion> regions(const std::vector<int32_t>& boundary, int32_t a, int32_t b, double width_a,
                                  double width_b, int64_t boundary_of_region, Team& team = Team::alone()) {
    scanned_edges_ = std::ssize(boundary), overlapped_ = 0;
    std::vector<FlowRegion> found(divide(boundary, a, b, boundary_of_region, team));
    growth_[0].own = growth_[1].other = a, growth_[1].own = growth_[0].other = b;
    growth_[0].limit = side_limit(a, b, width_a), growth_[1].limit = side_limit(b, a, width_b);
    const bool large = std::ssize(boundary) >= kManyVertices;
    parallel_for(2, large ? team : Team::alone(),
                 [&](int64_t side) { grow_side(boundary, team, growth_[side]); });
    if (large) overlapped_ += std::min(growth_[0].span, growth_[1].span);
    for (FlowRegion& region : found) region.a = a, region.b = b;
    for (const Growth& growth : growth_) {
      scanned_edges_ += growth.scanned, overlapped_ += growth.scanned - growth.span;
      for (size_t i = 0; i < growth.vertex.size(); ++i) {
        FlowRegion& region = found[label_[growth.vertex[i]]];
        region.vertices.push_back(growth.vertex[i]);
        region.depth.push_back(growth.depth[i]);
        region.in_a += growth.own == a;
      }
    }
    for (const int32_t v : band_) label_[v] = kNone;
    for (const FlowRegion& region : found)
      for (const int32_t v : region.vertices) label_[v] = kNone;
    std::erase_if(found, [](const FlowRegion& region) { return region.vertices.empty(); });
    return found;
  }

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
  Halo halo_of(std::span<const int32_t> vertices, Team& team, Wanted wanted) const {
    const int64_t count = std::ssize(vertices), ranges = (count + kVerticesPerRange - 1) / kVerticesPerRange;
    Halo found{std::vector<std::vector<Candidate>>(ranges)};
    std::vector<int64_t> scanned(ranges, 0);
    parallel_ranges(count, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      const int64_t range = begin / kVerticesPerRange;
      for (int64_t i = begin; i < end; ++i) {
        const int32_t v = vertices[i];
        scanned[range] += g_.degree(v);
        for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
          if (wanted(g_.adj[e])) found.candidates[range].push_back({g_.adj[e], label_[v]});
      }
    });
    // What the ranges have found is looked at in turn.
    for (const std::vector<Candidate>& some : found.candidates) found.span += std::ssize(some);
    for (const int64_t edges : scanned) found.scanned += edges;
    found.span += scanned.empty() ? 0 : *std::max_element(scanned.begin(), scanned.end());
    return found;
  }

  // Labels the vertices on the boundary and their neighbours with the number of the region they will join.
  // Returns the number of regions. Where many of them have neighbours in other parts (surfaces in space,
  // irregular graphs), larger parts are tried.
  int32_t divide(const std::vector<int32_t>& boundary, int32_t a, int32_t b, int64_t boundary_of_region,
                 Team& team) {
    band_ = boundary;
    if (boundary_of_region == 0 || 3 * boundary_of_region > 2 * std::ssize(boundary)) return 1;
    find_band(a, b, team);
    for (int64_t each = boundary_of_region; 3 * each <= 2 * std::ssize(boundary); each *= 4) {
      const Parts parts = cut_into_parts((std::ssize(boundary) + each - 1) / each);
      if (parts.count > 0) return parts.count;
      if (!parts.fewer_may_do) break;
    }
    for (const int32_t v : band_) label_[v] = kNone;
    return 1;
  }

  // Adds the neighbours of the boundary in both blocks: in sparse graphs the boundary itself is in fragments.
  void find_band(int32_t a, int32_t b, Team& team) {
    for (const int32_t v : band_) label_[v] = kUnassigned;
    const auto wanted = [&](int32_t u) {
      return label_[u] != kUnassigned && (blocks_.block[u] == a || blocks_.block[u] == b);
    };
    const Halo halo = halo_of(band_, team, wanted);
    scanned_edges_ += halo.scanned, overlapped_ += halo.scanned - halo.span;
    for (const std::vector<Candidate>& some : halo.candidates)
      for (const auto [u, _] : some) {
        if (label_[u] == kUnassigned) continue;
        label_[u] = kUnassigned;
        band_.push_back(u);
      }
  }

  struct Parts {
    int32_t count = 0;  // none if the band cannot be cut into so many
    bool fewer_may_do = true;
  };

  // Cuts the band into about `count` parts of the same size, unless more than a small share of the vertices
  // have neighbours in other parts.
  Parts cut_into_parts(int64_t count) {
    for (const int32_t v : band_) label_[v] = kUnassigned;
    const int64_t most = (std::ssize(band_) + count - 1) / count;
    int64_t border_left = std::ssize(band_) / kVerticesPerBorderVertex;
    // Where the band is in fragments, it is connected by vertices outside of it, which are not looked at.
    int64_t fragments_left = std::ssize(band_) / 4;
    int64_t size = 0;  // of the part that is being filled
    int32_t parts = 0;
    for (const int32_t first : band_) {
      seeds_.assign(1, first);
      for (size_t next = 0; next < seeds_.size(); ++next) {
        if (label_[seeds_[next]] != kUnassigned) continue;
        const int64_t room = most - size, border = grow_part(seeds_[next], parts, room);
        if (2 * border > std::ssize(part_) && std::ssize(part_) == most) return {0, false};
        const bool small = 4 * std::ssize(part_) < most;
        const int32_t other = small ? adjacent_part(parts) : kNone;
        if (small && other == kNone) fragments_left -= std::ssize(part_);
        else border_left -= border;
        if (border_left < 0 || fragments_left < 0) return {};
        if (other != kNone) {
          for (const int32_t v : part_) label_[v] = reserved_for(other);
          continue;
        }
        size += std::ssize(part_);
        // Small components of the band share a part.
        if (std::ssize(part_) == room || 4 * size > 3 * most) ++parts, size = 0;
      }
    }
    return {parts + (size > 0)};
  }

  // Breadth-first search in the band, until the part has `most` vertices. Where it ends, further parts
  // may begin. Returns the number of vertices with a neighbour in another part.
  int64_t grow_part(int32_t seed, int32_t part, int64_t most) {
    int64_t border = 0;
    part_.assign(1, seed);
    label_[seed] = reserved_for(part);
    for (size_t next = 0; next < part_.size(); ++next) {
      const int32_t v = part_[next];
      bool on_border = false;
      scanned_edges_ += g_.degree(v);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t u = g_.adj[e];
        if (label_[u] == kNone || label_[u] == reserved_for(part)) continue;
        if (label_[u] == kUnassigned && std::ssize(part_) < most) {
          label_[u] = reserved_for(part);
          part_.push_back(u);
          continue;
        }
        if (label_[u] == kUnassigned) seeds_.push_back(u);
        on_border = true;
      }
      border += on_border;
    }
    return border;
  }

  // Returns a part that is adjacent to the last one, or kNone.
  int32_t adjacent_part(int32_t part) {
    for (const int32_t v : part_) {
      scanned_edges_ += g_.degree(v);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
        if (const int32_t label = label_[g_.adj[e]]; label < kUnassigned && label != reserved_for(part))
          return reserved_for(label);
    }
    return kNone;
  }

  int64_t side_limit(int32_t own, int32_t other, double width) const {
    const int64_t room = blocks_.room(other), load = blocks_.load[own];
    const int64_t slack = std::max<int64_t>(0, (room + blocks_.room(own)) / 2);
    const int64_t most = load - 1 - load / 4;
    const double more = (width - 1) * static_cast<double>(slack);
    return room >= most || more >= static_cast<double>(most - room) ? most
                                                                    : room + static_cast<int64_t>(more);
  }

  // A search from the boundary into a block: the vertices in the order in which they were found. Two threads
  // write to theirs all the time, so each has its own cache lines.
  struct alignas(64) Growth {
    int32_t own = 0, other = 0;
    int64_t limit = 0, load = 0;  // of the vertices
    std::vector<int32_t> vertex, depth;
    int64_t scanned = 0, span = 0;  // edges
  };

  // Breadth-first search from the boundary into a block, up to the limits of load and depth.
  void grow_side(const std::vector<int32_t>& boundary, Team& team, Growth& growth) {
    growth.load = growth.scanned = growth.span = 0;
    growth.vertex.clear();
    growth.depth.clear();
    for (const int32_t v : boundary) join(v, 0, 0, growth);
    int32_t depth = 0;
    for (size_t begin = 0, end; (end = growth.vertex.size()) > begin; begin = end) {
      const auto count = static_cast<int64_t>(end - begin);
      growth.scanned += count, growth.span += std::min(count, kVerticesPerRange);
      if (depth == blocks_.context.layers) break;
      ++depth;
      if (count < 2 * kVerticesPerRange) grow_layer(begin, end, depth, growth);
      else grow_layer_by_ranges(begin, end, depth, team, growth);
    }
  }

  // Frees the neighbours of the vertices begin .. end - 1.
  void grow_layer(size_t begin, size_t end, int32_t depth, Growth& growth) {
    constexpr size_t ahead = 4;
    const int64_t before = growth.scanned;
    for (size_t i = begin; i < end; ++i) {
      const int32_t v = growth.vertex[i];
      growth.scanned += g_.degree(v);
      if (i + 2 * ahead < end) __builtin_prefetch(g_.start + growth.vertex[i + 2 * ahead]);
      if (i + ahead < end) __builtin_prefetch(g_.adj + g_.start[growth.vertex[i + ahead]]);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) join(g_.adj[e], depth, label_[v], growth);
    }
    growth.span += growth.scanned - before;
  }

  // The same, in the same order.
  void grow_layer_by_ranges(size_t begin, size_t end, int32_t depth, Team& team, Growth& growth) {
    const std::span<const int32_t> layer(growth.vertex.data() + begin, end - begin);
    const Halo halo = halo_of(layer, team, [&](int32_t u) { return may_join(u, growth); });
    growth.scanned += halo.scanned, growth.span += halo.span;
    for (const std::vector<Candidate>& some : halo.candidates)
      for (const auto [u, region] : some) join(u, depth, region, growth);
  }

  bool may_join(int32_t v, const Growth& growth) const {
    return blocks_.block[v] == growth.own &&
           label_[v] < 0;  // The other thread writes labels of the other block.
  }

  // Adds v to the region, or to the one that it is reserved for, unless a limit is reached.
  void join(int32_t v, int32_t depth, int32_t region, Growth& growth) {
    if (!may_join(v, growth)) return;
    if (g_.linear_cost && !g_.linear_cost->allows(v, growth.other)) return;
    if (growth.load + g_.load[v] > growth.limit || std::ssize(growth.vertex) >= blocks_.context.max_region)
      return;
    label_[v] = label_[v] < kUnassigned ? reserved_for(label_[v]) : region;
    growth.vertex.push_back(v);
    growth.depth.push_back(depth);
    growth.load += g_.load[v];
  }

  const BlocksToCut& blocks_;
  const GraphShape& g_;
  SparseNumbers label_;  // the region of each vertex; kNone between calls
  Growth growth_[2];  // in a and b
  std::vector<int32_t> band_;  // the boundary, and its neighbours
  std::vector<int32_t> part_, seeds_;  // the part grown last; where further ones may begin
  int64_t scanned_edges_ = 0, overlapped_ = 0;
};

}  // namespace hopbytes
