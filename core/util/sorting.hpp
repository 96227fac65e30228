// Sorting of vertex numbers by keys in an array: one function for all callers, because the code of a sort is
// long.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace hopbytes {

// Sorts `items` by key[item], ascending. Items with equal keys keep their order.
inline void sort_by_key(std::vector<int32_t>& items, const int32_t* key) {
  std::stable_sort(items.begin(), items.end(), [key](int32_t x, int32_t y) { return key[x] < key[y]; });
}

}  // namespace hopbytes
