// The weights of arcs and the loads of vertices.
#pragma once
#include <cstdint>
#include <vector>

namespace hopbytes {

// A view of an array, or 1 for every index without an array: most huge graphs have neither weights nor loads,
// and a copy of ones would take as much memory as the arcs. Both cases are read by the same instructions,
// since a branch in the loops over arcs would cost more than the logical and.
template <class T> class Weights {
 public:
  Weights() = default;  // 1 each
  explicit Weights(const T* array) : first_(array), mask_(-1) {}

  T operator[](int64_t i) const { return first_[i & mask_]; }
  bool all_one() const { return mask_ == 0; }
  // The array, null if there is none.
  const T* array() const { return all_one() ? nullptr : first_; }
  // Returns a copy of the entries begin .. end - 1.
  std::vector<T> copy(int64_t begin, int64_t end) const {
    return all_one() ? std::vector<T>(static_cast<size_t>(end - begin), 1)
                     : std::vector<T>(first_ + begin, first_ + end);
  }
  void prefetch(int64_t i) const { __builtin_prefetch(first_ + (i & mask_)); }

 private:
  static constexpr T one = 1;
  const T* first_ = &one;
  int64_t mask_ = 0;
};

}  // namespace hopbytes
