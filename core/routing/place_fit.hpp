// Decides which group of tasks may take which free place so that all other groups still find one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hopbytes {

// Places are divided into classes by capacity, groups by the smallest capacity that holds them. Each place
// takes one group. A group larger than every place is in the largest class; the caller repairs the overload.
class PlaceFit {
 public:
  PlaceFit(std::span<const int64_t> size, std::span<const int64_t> capacity) {
    std::vector<int64_t> distinct(capacity.begin(), capacity.end());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const auto class_of = [&](int64_t amount) {
      const auto found = std::lower_bound(distinct.begin(), distinct.end(), amount);
      return static_cast<int32_t>(
          std::min<int64_t>(found - distinct.begin(), static_cast<int64_t>(distinct.size()) - 1));
    };
    count_.assign(distinct.size(), 0);
    need_.assign(distinct.size(), 0);
    have_.assign(distinct.size(), 0);
    for (const int64_t s : size) group_class_.push_back(class_of(s)), ++count_[group_class_.back()];
    for (const int64_t c : capacity) place_class_.push_back(class_of(c)), ++have_[place_class_.back()];
    need_ = count_;
    std::partial_sum(need_.rbegin(), need_.rend(), need_.rbegin());
    std::partial_sum(have_.rbegin(), have_.rend(), have_.rbegin());
  }

  // Returns the classes of groups in the order in which they are placed: rare classes first, because their
  // places are nearly determined; of equally rare classes the largest.
  std::vector<int32_t> by_rarity() const {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < static_cast<int32_t>(count_.size()); ++c)
      if (count_[c] > 0) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return count_[a] != count_[b] ? count_[a] < count_[b] : a > b;
    });
    return order;
  }

  int32_t classes() const { return static_cast<int32_t>(count_.size()); }
  int32_t class_of_group(int32_t group) const { return group_class_[group]; }

  // Returns whether `group` may take the free place: it fits, and every larger class has places to spare.
  bool allows(int32_t group, int32_t place) const {
    const int32_t own = group_class_[group], taken = place_class_[place];
    if (taken < own) return false;
    for (int32_t c = own + 1; c <= taken; ++c)
      if (have_[c] <= need_[c]) return false;
    return true;
  }
  bool fits(int32_t group, int32_t place) const { return place_class_[place] >= group_class_[group]; }
  // Returns whether a group may go to a place while the group there, if any (-1), goes home in its stead.
  bool both_fit(int32_t group, int32_t place, int32_t other, int32_t home) const {
    return fits(group, place) && (other < 0 || fits(other, home));
  }

  void take(int32_t group, int32_t place) {
    for (int32_t c = 0; c <= group_class_[group]; ++c) --need_[c];
    for (int32_t c = 0; c <= place_class_[place]; ++c) --have_[c];
  }

 private:
  std::vector<int32_t> group_class_, place_class_;
  // need, have: groups to place and free places of a class and all larger ones
  std::vector<int64_t> count_, need_, have_;
};

}  // namespace hopbytes
