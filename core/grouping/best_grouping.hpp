// Keeps the best of several groupings of objects. A grouping is judged by the weight between different
// groups.
#pragma once
#include "graph/csr.hpp"

namespace hopbytes {

using Wide = __int128;
using UnsignedWide = unsigned __int128;

// The heuristic that produced a grouping. The values stand in the order in which the heuristics are tried.
enum class Grouping : int {
  packed,
  smallest_first,
  largest_last,
  weighted_degree,
  heaviest_edge,
  least_degree,
  in_order,
  exact
};

// Keeps the best grouping seen. The groups of consecutive objects get a credit, so that the ranks stay in
// order where that costs next to nothing.
class BestGrouping {
 public:
  BestGrouping(const Csr& graph, int64_t arity, int64_t credit, Out<int32_t> group)
      : g_(graph), credit_(credit), best_(group), trial_(graph.n()) {
    for (int64_t v = 0; v < g_.n(); ++v) trial_[v] = static_cast<int32_t>(v / arity);
    offer(Grouping::packed);
  }
  std::vector<int32_t>& trial() { return trial_; }
  Grouping which() const { return which_; }

  void offer(Grouping which) {
    const Wide value = score(which);
    if (which != Grouping::packed && value >= value_) return;
    value_ = value;
    which_ = which;
    std::copy(trial_.begin(), trial_.end(), best_.begin());
  }

 private:
  Wide score(Grouping which) const {
    uint64_t leaving = 0;  // Counts both directions of a pair; the sum is at most 2^64 - 2.
    for (int64_t v = 0; v < g_.n(); ++v)
      for (int64_t e = g_.indptr[v]; e < g_.indptr[v + 1]; ++e)
        if (trial_[g_.target[e]] != trial_[v]) leaving += static_cast<uint64_t>(g_.w(e));
    return static_cast<Wide>(leaving) * (which == Grouping::packed ? 1000 - credit_ : 1000);
  }

  const Csr g_;
  int64_t credit_;
  Out<int32_t> best_;
  std::vector<int32_t> trial_;
  Wide value_ = 0;
  Grouping which_ = Grouping::packed;
};

}  // namespace hopbytes
