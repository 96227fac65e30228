#include "partition/refinement/corridor.hpp"

#include <algorithm>

#include "util/parallel.hpp"

namespace hopbytes {

template <class Wanted>
Corridor::Beside Corridor::look_beside(std::span<const int32_t> vertices, Team& team, Wanted wanted) const {
  const int64_t count = std::ssize(vertices), ranges = (count + kVerticesPerRange - 1) / kVerticesPerRange;
  Beside found{std::vector<std::vector<Candidate>>(ranges)};
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

std::vector<FlowRegion> Corridor::regions(const std::vector<int32_t>& boundary, int32_t a, int32_t b,
                                          double width_a, double width_b, int64_t boundary_of_region,
                                          Team& team) {
  scanned_edges_ = std::ssize(boundary), overlapped_ = 0;
  std::vector<FlowRegion> found(divide(boundary, a, b, boundary_of_region, team));
  freed_[0].own = freed_[1].other = a, freed_[1].own = freed_[0].other = b;
  freed_[0].limit = side_limit(a, b, width_a), freed_[1].limit = side_limit(b, a, width_b);
  const bool large = std::ssize(boundary) >= kManyVertices;
  parallel_for(2, large ? team : Team::alone(),
               [&](int64_t side) { free_side(boundary, team, freed_[side]); });
  if (large) overlapped_ += std::min(freed_[0].span, freed_[1].span);
  for (FlowRegion& region : found) region.a = a, region.b = b;
  for (const Freed& freed : freed_) {
    scanned_edges_ += freed.scanned, overlapped_ += freed.scanned - freed.span;
    for (size_t i = 0; i < freed.vertex.size(); ++i) {
      FlowRegion& region = found[label_[freed.vertex[i]]];
      region.vertices.push_back(freed.vertex[i]);
      region.depth.push_back(freed.depth[i]);
      region.in_a += freed.own == a;
    }
  }
  for (const int32_t v : band_) label_[v] = kNone;
  for (const FlowRegion& region : found)
    for (const int32_t v : region.vertices) label_[v] = kNone;
  std::erase_if(found, [](const FlowRegion& region) { return region.vertices.empty(); });
  return found;
}

// Labels the vertices on and beside the boundary with the number of the region that will free them. Returns
// the number of regions. Where many of them have neighbours in other parts (surfaces in space, irregular
// graphs), larger parts are tried.
int32_t Corridor::divide(const std::vector<int32_t>& boundary, int32_t a, int32_t b,
                         int64_t boundary_of_region, Team& team) {
  band_ = boundary;
  if (boundary_of_region == 0 || 3 * boundary_of_region > 2 * std::ssize(boundary)) return 1;
  find_band(a, b, team);
  for (int64_t each = boundary_of_region; 3 * each <= 2 * std::ssize(boundary); each *= 4) {
    const int32_t parts = cut_into_parts((std::ssize(boundary) + each - 1) / each);
    if (parts > 0) return parts;
    if (parts == kInseparable) break;
  }
  for (const int32_t v : band_) label_[v] = kNone;
  return 1;
}

// Adds the neighbours of the boundary in both blocks: in sparse graphs the boundary itself is in fragments.
void Corridor::find_band(int32_t a, int32_t b, Team& team) {
  for (const int32_t v : band_) label_[v] = kWaiting;
  const auto wanted = [&](int32_t u) { return label_[u] != kWaiting && (block_[u] == a || block_[u] == b); };
  const Beside beside = look_beside(band_, team, wanted);
  scanned_edges_ += beside.scanned, overlapped_ += beside.scanned - beside.span;
  for (const std::vector<Candidate>& some : beside.candidates)
    for (const auto [u, _] : some) {
      if (label_[u] == kWaiting) continue;
      label_[u] = kWaiting;
      band_.push_back(u);
    }
}

// Cuts the band into about `count` parts of the same size. Returns the number of parts, or 0 if more than a
// small share of the vertices connect parts, or kInseparable if that would be so with larger parts, too.
int32_t Corridor::cut_into_parts(int64_t count) {
  for (const int32_t v : band_) label_[v] = kWaiting;
  const int64_t most = (std::ssize(band_) + count - 1) / count;
  int64_t connecting_left = std::ssize(band_) / kVerticesPerConnecting;
  // Where the band is in fragments, it is connected beside it, and nobody looks there.
  int64_t fragments_left = std::ssize(band_) / 4;
  int64_t size = 0;  // of the part that is being filled
  int32_t parts = 0;
  for (const int32_t first : band_) {
    seeds_.assign(1, first);
    for (size_t next = 0; next < seeds_.size(); ++next) {
      if (label_[seeds_[next]] != kWaiting) continue;
      const int64_t room = most - size, connecting = grow_part(seeds_[next], parts, room);
      if (2 * connecting > std::ssize(part_) && std::ssize(part_) == most) return kInseparable;
      const bool small = 4 * std::ssize(part_) < most;
      const int32_t other = small ? part_beside(parts) : kNone;
      if (small && other == kNone) fragments_left -= std::ssize(part_);
      else connecting_left -= connecting;
      if (connecting_left < 0 || fragments_left < 0) return 0;
      if (other != kNone) {
        for (const int32_t v : part_) label_[v] = promised(other);
        continue;
      }
      size += std::ssize(part_);
      // Small components of the band share a part.
      if (std::ssize(part_) == room || 4 * size > 3 * most) ++parts, size = 0;
    }
  }
  return parts + (size > 0);
}

// Breadth-first search in the band, until the part has `most` vertices. Where it ends, further parts
// may begin. Returns the number of vertices with a neighbour in another part.
int64_t Corridor::grow_part(int32_t seed, int32_t part, int64_t most) {
  int64_t connecting = 0;
  part_.assign(1, seed);
  label_[seed] = promised(part);
  for (size_t next = 0; next < part_.size(); ++next) {
    const int32_t v = part_[next];
    bool connects = false;
    scanned_edges_ += g_.degree(v);
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t u = g_.adj[e];
      if (label_[u] == kNone || label_[u] == promised(part)) continue;
      if (label_[u] == kWaiting && std::ssize(part_) < most) {
        label_[u] = promised(part);
        part_.push_back(u);
        continue;
      }
      if (label_[u] == kWaiting) seeds_.push_back(u);
      connects = true;
    }
    connecting += connects;
  }
  return connecting;
}

// Returns a part that is adjacent to the last one, or kNone.
int32_t Corridor::part_beside(int32_t part) {
  for (const int32_t v : part_) {
    scanned_edges_ += g_.degree(v);
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
      if (const int32_t label = label_[g_.adj[e]]; label < kWaiting && label != promised(part))
        return promised(label);
  }
  return kNone;
}

int64_t Corridor::side_limit(int32_t own, int32_t other, double width) const {
  const int64_t room = max_block_weight_[other] - load_[other];
  const int64_t slack = std::max<int64_t>(0, (room + max_block_weight_[own] - load_[own]) / 2);
  const int64_t most = load_[own] - 1 - load_[own] / 4;
  const double more = (width - 1) * static_cast<double>(slack);
  return room >= most || more >= static_cast<double>(most - room) ? most : room + static_cast<int64_t>(more);
}

// Breadth-first search from the boundary into a block, up to the limits of load and depth.
void Corridor::free_side(const std::vector<int32_t>& boundary, Team& team, Freed& freed) {
  freed.load = freed.scanned = freed.span = 0;
  freed.vertex.clear();
  freed.depth.clear();
  for (const int32_t v : boundary) free_vertex(v, 0, 0, freed);
  int32_t depth = 0;
  for (size_t begin = 0, end; (end = freed.vertex.size()) > begin; begin = end) {
    const auto count = static_cast<int64_t>(end - begin);
    freed.scanned += count, freed.span += std::min(count, kVerticesPerRange);
    if (depth == context_.layers) break;
    ++depth;
    if (count < 2 * kVerticesPerRange) free_layer(begin, end, depth, freed);
    else free_layer_by_ranges(begin, end, depth, team, freed);
  }
}

// Frees the neighbours of the vertices begin .. end - 1.
void Corridor::free_layer(size_t begin, size_t end, int32_t depth, Freed& freed) {
  constexpr size_t ahead = 4;
  const int64_t before = freed.scanned;
  for (size_t i = begin; i < end; ++i) {
    const int32_t v = freed.vertex[i];
    freed.scanned += g_.degree(v);
    if (i + 2 * ahead < end) __builtin_prefetch(g_.start + freed.vertex[i + 2 * ahead]);
    if (i + ahead < end) __builtin_prefetch(g_.adj + g_.start[freed.vertex[i + ahead]]);
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) free_vertex(g_.adj[e], depth, label_[v], freed);
  }
  freed.span += freed.scanned - before;
}

// The same, in the same order.
void Corridor::free_layer_by_ranges(size_t begin, size_t end, int32_t depth, Team& team, Freed& freed) {
  const std::span<const int32_t> layer(freed.vertex.data() + begin, end - begin);
  const Beside beside = look_beside(layer, team, [&](int32_t u) { return may_be_freed(u, freed); });
  freed.scanned += beside.scanned, freed.span += beside.span;
  for (const std::vector<Candidate>& some : beside.candidates)
    for (const auto [u, region] : some) free_vertex(u, depth, region, freed);
}

// Frees v for the region, or for the one that it was promised to, unless a limit is reached.
void Corridor::free_vertex(int32_t v, int32_t depth, int32_t region, Freed& freed) {
  if (!may_be_freed(v, freed)) return;
  if (g_.linear_cost && !g_.linear_cost->allows(v, freed.other)) return;
  if (freed.load + g_.load[v] > freed.limit || std::ssize(freed.vertex) >= context_.max_region) return;
  label_[v] = label_[v] < kWaiting ? promised(label_[v]) : region;
  freed.vertex.push_back(v);
  freed.depth.push_back(depth);
  freed.load += g_.load[v];
}

}  // namespace hopbytes
