// The nearest PEs of every PE under any distance.
#pragma once
#include <cmath>
#include <type_traits>

#include "graph/distance.hpp"
#include "util/bucket_order.hpp"
#include "util/control.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

// On machines of more nodes than this, most pairs are excluded because the distance is a metric.
constexpr int64_t most_scanned = 4096;

// Returns whether q, the PE after p, is in the same node, so that all PEs of other nodes are as far from
// both.
template <class Distance> bool same_node(const Distance&, int32_t, int32_t) { return false; }
inline bool same_node(const NetworkDistance& network, int32_t p, int32_t q) {
  const int64_t differing = std::bit_width(network.label[p] ^ network.label[q]);
  return differing <= network.within_node_bits && network.place_of(p).at == network.place_of(q).at;
}

// Finds the nearest PEs; every distance that it reads counts as a scanned edge. The nodes are divided into
// regions around landmarks, and a region is read if it may contain a PE that is near enough by the triangle
// inequality. Up to `most_scanned` nodes, and under distances that need not be a metric, there is one region,
// which holds all nodes.
template <class Distance> class NearestPes {
 public:
  NearestPes(const Distance& distance, int64_t k, const Control& control)
      : distance_(distance), k_(k), control_(control) {
    for (int32_t p = 0; p < k; ++p)
      if (p == 0 || !same_node(distance, node_.back(), p)) node_.push_back(p);
    const int64_t nodes = static_cast<int64_t>(node_.size());
    const bool divided = nodes > most_scanned && std::is_same_v<Distance, NetworkDistance>;
    landmarks_ = divided ? static_cast<int64_t>(std::sqrt(static_cast<double>(nodes))) : 1;
    divide(nodes);
  }

  // Writes the `near` nearest PEs of every PE, itself first; of equally near ones the smaller numbers.
  void write(int64_t near, int32_t* out) {
    std::vector<Far> own;
    for (size_t i = 0; i < node_.size() && !control_.should_stop(); ++i) {
      const int32_t first = node_[i], last = end_of(static_cast<int32_t>(i));
      collect(static_cast<int32_t>(i), near);
      for (int32_t p = first; p < last; ++p) {
        own.assign(found_.begin(), found_.end());
        for (int32_t q = first; q < last; ++q) own.emplace_back(p == q ? -1 : distance_(p, q), q);
        std::partial_sort(own.begin(), own.begin() + near, own.end());
        for (int64_t j = 0; j < near; ++j) out[p * near + j] = own[j].second;
      }
    }
    control_.record_work(compared_);
  }

 private:
  using Far = std::pair<int64_t, int32_t>;  // a distance and a PE, node or region

  int32_t end_of(int32_t node) const {
    return node + 1 < static_cast<int32_t>(node_.size()) ? node_[node + 1] : static_cast<int32_t>(k_);
  }

  // Assigns every node to the nearest landmark; landmarks are nodes at equal intervals.
  void divide(int64_t nodes) {
    std::vector<int32_t> region(nodes, 0);
    radius_.assign(landmarks_, 0);
    for (int64_t i = 0; i < nodes; ++i) {
      if (landmarks_ > 1 && !control_.should_stop()) {
        int64_t least = INT64_MAX;
        for (int32_t l = 0; l < landmarks_; ++l)
          if (const int64_t apart = distance_(node_[i], landmark(l)); apart < least)
            least = apart, region[i] = l;
        radius_[region[i]] = std::max(radius_[region[i]], least);
        compared_ += landmarks_;
      }
    }
    members_ = Buckets<int32_t>(nodes, landmarks_, [&](int64_t i) { return region[i]; });
  }
  int32_t landmark(int64_t l) const { return node_[l * static_cast<int64_t>(node_.size()) / landmarks_]; }

  // Collects at least the `near` nearest PEs of other nodes, if there are so many.
  void collect(int32_t node, int64_t near) {
    found_.clear();
    const int32_t p = node_[node];
    if (landmarks_ == 1) {
      // Mostly few PEs are within the reach of the previous node and the step from there: few are sorted.
      const int64_t limit =
          node > 0 && step_limit_ < INT64_MAX ? add(step_limit_, distance_(node_[node - 1], p)) : INT64_MAX;
      read(0, node, limit);
      if (static_cast<int64_t>(found_.size()) < near && limit < INT64_MAX)
        found_.clear(), read(0, node, INT64_MAX);
      step_limit_ = shorten(near);
      return;
    }
    regions_.clear();
    for (int32_t l = 0; l < landmarks_; ++l) regions_.emplace_back(distance_(p, landmark(l)), l);
    std::sort(regions_.begin(), regions_.end());
    int64_t limit = INT64_MAX;
    for (const auto& [apart, l] : regions_) {
      if (apart - radius_[l] > limit) continue;
      read(l, node, limit);
      limit = shorten(near);
    }
  }

  // Adds the PEs of a region that are no farther than `limit`.
  void read(int32_t region, int32_t node, int64_t limit) {
    const int32_t p = node_[node];
    compared_ += std::ssize(members_.of(region));
    for (const int32_t i : members_.of(region)) {
      if (i == node) continue;
      if (const int64_t apart = distance_(p, node_[i]); apart <= limit)
        for (int32_t q = node_[i]; q < end_of(i); ++q) found_.emplace_back(apart, q);
    }
  }

  // Drops what is not among the `near` nearest. Returns the distance of the farthest of them.
  int64_t shorten(int64_t near) {
    if (static_cast<int64_t>(found_.size()) < near) return INT64_MAX;
    std::nth_element(found_.begin(), found_.begin() + (near - 1), found_.end());
    found_.resize(near);
    return found_.back().first;
  }
  static int64_t add(int64_t a, int64_t b) { return b < INT64_MAX - a ? a + b : INT64_MAX; }

  const Distance& distance_;
  int64_t k_;
  const Control& control_;
  std::vector<int32_t> node_;  // the first PE of every node
  int64_t landmarks_ = 1, step_limit_ = INT64_MAX, compared_ = 0;
  std::vector<int64_t> radius_;  // of the regions
  Buckets<int32_t> members_;  // nodes by region
  std::vector<Far> found_, regions_;
};

// Returns int32[k x near], the nearest PEs of every PE.
template <class Distance>
std::vector<int32_t> nearest_pes(const Distance& distance, int64_t k, int64_t near, const Control& control) {
  if (near == 1) return numbers_below<int32_t>(k);
  std::vector<int32_t> nearest(k * near);
  if (near > 1) NearestPes<Distance>(distance, k, control).write(near, nearest.data());
  return nearest;
}

}  // namespace hopbytes
