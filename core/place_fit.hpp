// Which group of tasks may go to which free place, so that all others still find one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hopbytes {

// Places fall into classes by capacity, groups by the smallest capacity that holds them. One group per
// place; a group larger than every place counts as one of the largest class, and the caller repairs.
class PlaceFit {
 public:
  PlaceFit(std::span<const int64_t> size, std::span<const int64_t> capacity) {
    std::vector<int64_t> caps(capacity.begin(), capacity.end());
    std::sort(caps.begin(), caps.end());
    caps.erase(std::unique(caps.begin(), caps.end()), caps.end());
    const auto class_of = [&](int64_t amount) {
      const auto found = std::lower_bound(caps.begin(), caps.end(), amount);
      return static_cast<int32_t>(std::min<int64_t>(found - caps.begin(), static_cast<int64_t>(caps.size()) - 1));
    };
    count_.assign(caps.size(), 0);
    need_.assign(caps.size(), 0);
    have_.assign(caps.size(), 0);
    for (const int64_t s : size) group_class_.push_back(class_of(s)), ++count_[group_class_.back()];
    for (const int64_t c : capacity) place_class_.push_back(class_of(c)), ++have_[place_class_.back()];
    need_ = count_;
    std::partial_sum(need_.rbegin(), need_.rend(), need_.rbegin());
    std::partial_sum(have_.rbegin(), have_.rend(), have_.rbegin());
  }

  // Classes of groups in the order they are to be placed: rare ones first, as their places are nearly
  // forced; of equally rare ones the largest.
  std::vector<int32_t> by_rarity() const {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < static_cast<int32_t>(count_.size()); ++c)
      if (count_[c] > 0) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return count_[a] != count_[b] ? count_[a] < count_[b] : a > b;
    });
    return order;
  }

  int32_t class_of_group(int32_t group) const { return group_class_[group]; }

  // Whether `group` may take the free place: it fits, and every class above has places to spare.
  bool allows(int32_t group, int32_t place) const {
    const int32_t own = group_class_[group], taken = place_class_[place];
    if (taken < own) return false;
    for (int32_t c = own + 1; c <= taken; ++c)
      if (have_[c] <= need_[c]) return false;
    return true;
  }
  // Whether two placed groups (or a group and a free place, other = -1) may exchange their places.
  bool fits(int32_t group, int32_t place) const { return place_class_[place] >= group_class_[group]; }

  void take(int32_t group, int32_t place) {
    for (int32_t c = 0; c <= group_class_[group]; ++c) --need_[c];
    for (int32_t c = 0; c <= place_class_[place]; ++c) --have_[c];
  }

 private:
  std::vector<int32_t> group_class_, place_class_;
  std::vector<int64_t> count_, need_, have_;  // need, have: groups to place and free places from a class up
};

}  // namespace hopbytes
