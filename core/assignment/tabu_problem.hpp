// Dense quadratic assignment problems, and the narrowest number type that a search of a problem can use.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <vector>

namespace hopbytes {

// Row-major n x n matrices. The cost of a permutation p is the sum over i, j of flow[i,j] distance[p_i,p_j]
// (over i < j if `symmetric`; flow then contains both directions) plus the sum of linear_cost[i,p_i]. The
// diagonals of flow and distance are zero: their products belong to the linear cost (empty: none).
struct DenseProblem {
  int64_t n = 0;
  bool symmetric = true;
  std::span<const int64_t> flow, distance, linear_cost;
};

namespace tabu_detail {

// The number of bits of integers that T represents exactly.
template <class T> constexpr int kDigits = std::numeric_limits<T>::digits;
// The increase of the change of a tabu pair. Changes must stay below half of it: then increased ones are
// above all others and below 3/2 of it, which T still represents exactly.
template <class T> constexpr T kRaise = static_cast<T>(int64_t{1} << (kDigits<T> - 1));

template <class T> double fits() { return static_cast<double>(kRaise<T>) / 2; }

// Rows begin at cache lines, so that a step of a pass touches as few cache lines as possible.
template <class T> struct Lines {
  using value_type = T;
  Lines() = default;
  template <class U> Lines(const Lines<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* array, std::size_t) { ::operator delete(array, kLine); }
  bool operator==(const Lines&) const { return true; }
  static constexpr std::align_val_t kLine{64};
};
template <class T> using Numbers = std::vector<T, Lines<T>>;

// Returns an upper bound of every number in the search, as a double, because it only selects a type. A task
// costs between 0 and `cost`, an exchange changes the costs of two tasks, and updates add products of
// differences.
inline double largest_number(const DenseProblem& problem) {
  double row = 0, furthest = 0, linear_cost = 0, heaviest = 0;
  std::vector<double> in(problem.n, 0);
  for (int64_t i = 0; i < problem.n; ++i) {
    double out = 0;
    for (int64_t j = 0; j < problem.n; ++j) {
      const double w = static_cast<double>(problem.flow[i * problem.n + j]);
      out += w, in[j] += w;
      heaviest = std::max(heaviest, w);
      furthest = std::max(furthest, static_cast<double>(problem.distance[i * problem.n + j]));
    }
    row = std::max(row, out);
  }
  for (double w : in) row = std::max(row, w);
  for (int64_t u : problem.linear_cost) linear_cost = std::max(linear_cost, static_cast<double>(u));
  const double cost = (problem.symmetric ? 1 : 2) * row * furthest + linear_cost;
  const double products = (problem.symmetric ? 4 : 8) * heaviest * furthest;
  return std::max({2 * cost + products, heaviest, furthest});
}

}  // namespace tabu_detail
}  // namespace hopbytes
