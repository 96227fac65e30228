// The cost of every task on every place. Products of two vectors are added to it later, several at once,
// because the costs are then read and written only once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "assignment/tabu_passes.hpp"
#include "assignment/tabu_problem.hpp"

namespace hopbytes::tabu_detail {

template <class T> class DeferredCosts {
 public:
  explicit DeferredCosts(int64_t n)
      : n_(n),
        stride_(padded(n)),
        cost_((n_ + kRows) * stride_, 0),
        by_task_(kDeferred * stride_, 0),
        by_place_(kDeferred * stride_, 0) {}

  // The costs of a task by place, without deferred products.
  T* row(int64_t task) { return cost_.data() + task * stride_; }

  // Defers the product of two vectors.
  void defer(const T* by_task, const T* by_place) {
    const auto [x, y] = next_deferred();
    std::copy_n(by_task, stride_, x), std::copy_n(by_place, stride_, y);
  }

  // Returns where the caller writes the factors of another product, by task and by place.
  std::pair<T*, T*> next_deferred() {
    make_room(1);
    const int64_t at = deferred_++ * stride_;
    return {by_task_.data() + at, by_place_.data() + at};
  }

  // Makes sure that the factors of as many products as `count` stay where they are until all are written.
  void make_room(int64_t count) {
    if (deferred_ + count > kDeferred) apply_deferred();
  }

  void apply_deferred() {
    std::fill(by_task_.begin() + deferred_ * stride_, by_task_.end(), T(0));
    add_products(n_, cost_.data(), by_task_.data(), by_place_.data());
    deferred_ = 0;
  }

  // Computes the costs of a task on all places, including deferred products.
  void of_task(int64_t task, T* costs) const {
    std::copy_n(cost_.data() + task * stride_, stride_, costs);
    add_rows<T>(stride_, costs, by_task_.data() + task, by_place_.data(), deferred_);
  }

  // Computes the costs of all tasks on two places, including deferred products.
  void of_places(int64_t first, int64_t second, T* on_first, T* on_second) const {
    for (int64_t i = 0; i < n_; ++i) {
      const T* costs = cost_.data() + i * stride_;
      on_first[i] = costs[first], on_second[i] = costs[second];
    }
    add_rows<T>(stride_, on_first, by_place_.data() + first, by_task_.data(), deferred_);
    add_rows<T>(stride_, on_second, by_place_.data() + second, by_task_.data(), deferred_);
  }

 private:
  int64_t n_, stride_;
  Numbers<T> cost_;
  Numbers<T> by_task_, by_place_;  // factors of the products not yet added, kDeferred rows
  int64_t deferred_ = 0;
};

}  // namespace hopbytes::tabu_detail
