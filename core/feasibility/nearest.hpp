// The nearest PE with room, which repair queries repeatedly.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/csr.hpp"

namespace hopbytes {

// Room per PE with a tree of maxima: finds the first PE of a range that has room for w, in O(log k).
class RoomTree {
 public:
  explicit RoomTree(const std::vector<int64_t>& room)
      : leaves_(static_cast<int64_t>(std::bit_ceil(room.size()))), best_(2 * leaves_, INT64_MIN) {
    std::copy(room.begin(), room.end(), best_.begin() + leaves_);
    for (int64_t i = leaves_ - 1; i > 0; --i) best_[i] = std::max(best_[2 * i], best_[2 * i + 1]);
  }
  int64_t operator[](int64_t pe) const { return best_[leaves_ + pe]; }
  int64_t largest() const { return best_[1]; }
  void change(int64_t pe, int64_t difference) {
    int64_t i = leaves_ + pe;
    best_[i] += difference;
    for (i /= 2; i > 0; i /= 2) best_[i] = std::max(best_[2 * i], best_[2 * i + 1]);
  }
  // Returns the first PE in [begin, end) with room >= w, -1 if there is none.
  int64_t first(int64_t begin, int64_t end, int64_t w) const { return search(1, 0, leaves_, begin, end, w); }

 private:
  int64_t search(int64_t node, int64_t low, int64_t high, int64_t begin, int64_t end, int64_t w) const {
    if (high <= begin || end <= low || best_[node] < w) return -1;
    if (high - low == 1) return low;
    const int64_t middle = (low + high) / 2;
    const int64_t left = search(2 * node, low, middle, begin, end, w);
    return left >= 0 ? left : search(2 * node + 1, middle, high, begin, end, w);
  }

  int64_t leaves_;
  std::vector<int64_t> best_;
};

// Finds the nearest PE with room, level by level outwards: labels ascend, so a subtree is a range of PEs.
class NearestInTree {
 public:
  NearestInTree(In<uint64_t> label, In<int64_t> bit_cost) : label_(label) {
    const auto widest = static_cast<int>(std::bit_width(label.front() ^ label.back()));
    for (int width = 1; width <= widest; ++width)
      if (width == widest || bit_cost[width + 1] != bit_cost[width]) widths_.push_back(width);
  }
  int64_t operator()(const RoomTree& room, int64_t pe, int64_t w) const {
    if (room[pe] >= w) return pe;
    for (int width : widths_) {
      const uint64_t low = width == 64 ? 0 : label_[pe] >> width << width;
      const uint64_t high = width == 64 ? ~uint64_t{0} : low | ((uint64_t{1} << width) - 1);
      const auto begin = std::lower_bound(label_.begin(), label_.end(), low);
      const auto end = std::upper_bound(begin, label_.end(), high);
      const int64_t found = room.first(begin - label_.begin(), end - label_.begin(), w);
      if (found >= 0) return found;
    }
    return -1;
  }

 private:
  In<uint64_t> label_;
  std::vector<int> widths_;  // bit widths at which the distance changes, innermost first
};

// Finds the nearest PE with room under any distance by scanning all k PEs.
class NearestByScan {
 public:
  NearestByScan(const AnyDistance& distance, int64_t k) : distance_(distance), k_(k) {}
  int64_t operator()(const RoomTree& room, int64_t pe, int64_t w) const {
    if (room[pe] >= w) return pe;
    return distance_.in_form([&](const auto& distance) {
      int64_t best = -1, least = 0;
      for (int64_t q = 0; q < k_; ++q) {
        if (room[q] < w) continue;
        const int64_t length = distance(static_cast<int32_t>(pe), static_cast<int32_t>(q));
        if (best < 0 || length < least) best = q, least = length;
      }
      return best;
    });
  }

 private:
  AnyDistance distance_;
  int64_t k_;
};

// Returns the nearest PE with room for w to a PE, -1 if there is none.
using Nearest = std::function<int64_t(const RoomTree& room, int64_t pe, int64_t w)>;

}  // namespace hopbytes
