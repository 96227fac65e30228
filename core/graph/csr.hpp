// Compressed sparse rows, and what nearly all headers use of the standard library.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hopbytes {

template <class T> using In = std::span<const T>;
template <class T> using Out = std::span<T>;

// A graph as arrays. An empty `weight` means 1 per arc.
struct Csr {
  In<int64_t> indptr;
  In<int32_t> target;
  In<int64_t> weight;

  int64_t n() const { return static_cast<int64_t>(indptr.size()) - 1; }
  int64_t m() const { return static_cast<int64_t>(target.size()); }
  int64_t w(int64_t arc) const { return weight.empty() ? 1 : weight[arc]; }
};

}  // namespace hopbytes
