#include "partition/refinement/corridor.hpp"

#include <algorithm>

namespace hopbytes {

std::vector<FlowRegion> Corridor::regions(const std::vector<int32_t>& boundary, int32_t a, int32_t b,
                                          int64_t boundary_of_region) {
  scanned_edges_ = std::ssize(boundary);
  std::vector<FlowRegion> found(divide(boundary, a, b, boundary_of_region));
  for (FlowRegion& region : found) region.a = a, region.b = b;
  free_side(boundary, a, b, found);
  for (FlowRegion& region : found) region.in_a = static_cast<int32_t>(region.vertices.size());
  free_side(boundary, b, a, found);
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
                         int64_t boundary_of_region) {
  band_ = boundary;
  if (boundary_of_region == 0 || 3 * boundary_of_region > 2 * std::ssize(boundary)) return 1;
  find_band(a, b);
  for (int64_t each = boundary_of_region; 3 * each <= 2 * std::ssize(boundary); each *= 4) {
    const int32_t parts = cut_into_parts((std::ssize(boundary) + each - 1) / each);
    if (parts > 0) return parts;
    if (parts == kInseparable) break;
  }
  for (const int32_t v : band_) label_[v] = kNone;
  return 1;
}

// Adds the neighbours of the boundary in both blocks: in sparse graphs the boundary itself is in fragments.
void Corridor::find_band(int32_t a, int32_t b) {
  for (const int32_t v : band_) label_[v] = kWaiting;
  for (int64_t i = 0, boundary = std::ssize(band_); i < boundary; ++i) {
    const int32_t v = band_[i];
    scanned_edges_ += g_.degree(v);
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t u = g_.adj[e];
      if (label_[u] == kWaiting || (block_[u] != a && block_[u] != b)) continue;
      label_[u] = kWaiting;
      band_.push_back(u);
    }
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

int64_t Corridor::side_limit(int32_t own, int32_t other) const {
  const int64_t room = max_block_weight_[other] - load_[other];
  const int64_t slack = std::max<int64_t>(0, (room + max_block_weight_[own] - load_[own]) / 2);
  const int64_t most = load_[own] - 1 - load_[own] / 4;
  const double more = (context_.width - 1) * static_cast<double>(slack);
  return room >= most || more >= static_cast<double>(most - room) ? most : room + static_cast<int64_t>(more);
}

// Breadth-first search from the boundary into a block, up to the limits of load and depth.
void Corridor::free_side(const std::vector<int32_t>& boundary, int32_t own, int32_t other,
                         std::vector<FlowRegion>& found) {
  const int64_t limit = side_limit(own, other);
  int64_t load = 0;
  queue_.clear();
  depth_.clear();
  const auto add = [&](int32_t v, int32_t depth, int32_t region) {
    if (g_.linear_cost && !g_.linear_cost->allows(v, other)) return;
    if (label_[v] >= 0 || block_[v] != own || load + g_.load[v] > limit ||
        std::ssize(queue_) >= context_.max_region)
      return;
    if (label_[v] < kWaiting) region = promised(label_[v]);
    label_[v] = region;
    queue_.push_back(v);
    depth_.push_back(depth);
    found[region].vertices.push_back(v);
    found[region].depth.push_back(depth);
    load += g_.load[v];
  };
  for (const int32_t v : boundary) add(v, 0, 0);
  for (size_t i = 0; i < queue_.size(); ++i) {
    scanned_edges_ += 1 + g_.degree(queue_[i]);
    if (depth_[i] == kDeepest) continue;
    for (int64_t e = g_.start[queue_[i]]; e < g_.start[queue_[i] + 1]; ++e)
      add(g_.adj[e], depth_[i] + 1, label_[queue_[i]]);
  }
}

}  // namespace hopbytes
