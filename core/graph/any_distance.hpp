// Distances whose form is known at run time only, so that code that reads few of them is compiled once.
#pragma once
#include <utility>
#include <variant>

#include "graph/distance.hpp"

namespace hopbytes {

class AnyDistance {
 public:
  AnyDistance() = default;  // all blocks are equally far from each other
  template <class D> AnyDistance(D form) : form_(std::move(form)) {}

  bool flat() const { return form_.index() == 0; }

  // Calls work(distance) with the distance in its own type: for loops that read many distances.
  template <class Work> decltype(auto) in_form(Work&& work) const {
    return std::visit(std::forward<Work>(work), form_);
  }

  int64_t operator()(int32_t a, int32_t b) const {
    return in_form([a, b](const auto& distance) { return static_cast<int64_t>(distance(a, b)); });
  }

  // Returns the sum of weight[b] * distance(p, b) over `blocks`.
  template <class W> int64_t weighted_sum(int32_t p, std::span<const int32_t> blocks, const W* weight) const {
    return in_form([&](const auto& distance) {
      int64_t total = 0;
      for (int32_t b : blocks) total += weight[b] * distance(p, b);
      return total;
    });
  }

 private:
  std::variant<FlatDistance, TreeDistance, TableDistance, NetworkDistance> form_;
};

}  // namespace hopbytes
