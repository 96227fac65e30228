// How far the regions of minimum cuts reach into the two blocks of a pair.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace hopbytes {

// A region is as wide as the context asks for until every minimum cut in it would move more from one block to
// the other than fits. Such a cut is of no use however it is pierced, and takes longer than others, because
// much of its flow finds no way. So the part of that block in the region becomes narrower, for all later
// rounds and levels of an uncoarsening: a block that is thin or full is so on finer graphs as well.
class RegionWidths {
 public:
  void forget() { narrowing_.clear(); }

  // Returns the width of the part of block `own` that may move to `other`, in units of the free room:
  // `widest`, or nearer to 1 (as much as fits) after every failure.
  double width(int32_t own, int32_t other, double widest) const {
    const auto found = narrowing_.find(key(own, other));
    return 1 + (widest - 1) * (found == narrowing_.end() ? 1 : found->second);
  }

  void narrow(int32_t own, int32_t other) {
    constexpr double factor = 0.25, most = 1.0 / (1 << 16);
    double& narrowed = narrowing_.try_emplace(key(own, other), 1).first->second;
    narrowed = std::max(most, factor * narrowed);
  }

 private:
  static int64_t key(int32_t own, int32_t other) { return (int64_t{own} << 32) | other; }

  std::unordered_map<int64_t, double> narrowing_;  // the factors by which parts are narrower
};

}  // namespace hopbytes
