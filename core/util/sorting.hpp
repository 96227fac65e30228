// Sorting of numbers, and those that are sorted.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hopbytes {

// Sorts `items` by key[item], ascending. Items with equal keys keep their order. One function for all
// callers, because the code of a sort is long.
inline void sort_by_key(std::vector<int32_t>& items, const int32_t* key) {
  std::stable_sort(items.begin(), items.end(), [key](int32_t x, int32_t y) { return key[x] < key[y]; });
}

// Sorts items and removes all but one of equal ones.
template <class T> void sort_and_deduplicate(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

// Returns 0, 1, .. count - 1.
template <class T> std::vector<T> numbers_below(int64_t count) {
  std::vector<T> numbers(count);
  std::iota(numbers.begin(), numbers.end(), T{0});
  return numbers;
}

}  // namespace hopbytes
