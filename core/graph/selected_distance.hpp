// The distances between some of the PEs, numbered anew.
#pragma once
#include "graph/any_distance.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

// Distances between representatives of groups of PEs. What they are computed from is kept here or by the
// distances of all PEs, which have to outlive it.
class SelectedDistance {
 public:
  SelectedDistance(const AnyDistance& all, const std::vector<int32_t>& pes) {
    all.in_form([&](const auto& form) { select(form, pes); });
  }
  SelectedDistance(SelectedDistance&&) = default;
  SelectedDistance& operator=(SelectedDistance&&) = default;

  const AnyDistance& distance() const { return distance_; }

 private:
  void select(const FlatDistance&, const std::vector<int32_t>&) {}
  void select(TreeDistance tree, const std::vector<int32_t>& pes) {
    for (const int32_t pe : pes) label_.push_back(tree.label[pe]);
    tree.label = label_.data();
    if (!all_equal(tree)) distance_ = AnyDistance(tree);
  }
  void select(TableDistance all, const std::vector<int32_t>& pes) {
    for (const int32_t a : pes)
      for (const int32_t b : pes) table_.push_back(all(a, b));
    distance_ = AnyDistance(TableDistance{table_.data(), std::ssize(pes)});
  }
  void select(NetworkDistance network, const std::vector<int32_t>& pes) {
    const int64_t numbers = std::max<int64_t>(1, network.dimensions);  // of the place of a PE
    for (const int32_t pe : pes) {
      label_.push_back(network.label[pe]);
      place_.insert(place_.end(), network.place + pe * numbers, network.place + (pe + 1) * numbers);
    }
    network.label = label_.data();
    network.place = place_.data();
    distance_ = AnyDistance(network);
  }

  // Whether all pairs are equally far apart: those of neighbours in the order of the labels are, then.
  bool all_equal(const TreeDistance& tree) const {
    auto order = numbers_below<int32_t>(std::ssize(label_));
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return label_[a] < label_[b]; });
    for (size_t i = 2; i < order.size(); ++i)
      if (tree(order[i - 1], order[i]) != tree(order[0], order[1])) return false;
    return true;
  }

  std::vector<uint64_t> label_;
  std::vector<int64_t> table_;
  std::vector<int32_t> place_;
  AnyDistance distance_;
};

}  // namespace hopbytes
