// How far the regions of minimum cuts reach into the two blocks of a pair.
#pragma once
#include <cstdint>
#include <unordered_map>

namespace hopbytes {

// A region is as wide as the context asks for until every minimum cut in it would move more from one block to
// the other than fits. Such a cut is of no use however it is pierced, and takes longer than others, because
// much of its flow finds no way. So the part of that block in the region becomes narrower, for all later
// rounds and levels of an uncoarsening: a block that is thin or full is so on finer graphs as well.
class RegionWidths {
 public:
  void forget() { times_narrowed_.clear(); }

  // Returns the width of the part of block `own` that may move to `other`, in units of the free room:
  // `widest`, or nearer to 1 (as much as fits) after every failure.
  double width(int32_t own, int32_t other, double widest) const {
    const auto found = times_narrowed_.find(key(own, other));
    double beyond = widest - 1;
    if (found != times_narrowed_.end())
      for (int32_t i = 0; i < found->second; ++i) beyond /= kNarrowing;
    return 1 + beyond;
  }

  void narrow(int32_t own, int32_t other) {
    int32_t& times = times_narrowed_[key(own, other)];
    if (times < kMostTimes) ++times;
  }

 private:
  static constexpr double kNarrowing = 4;
  static constexpr int32_t kMostTimes = 8;

  static int64_t key(int32_t own, int32_t other) { return (int64_t{own} << 32) | other; }

  std::unordered_map<int64_t, int32_t> times_narrowed_;
};

}  // namespace hopbytes
