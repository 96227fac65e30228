// Classes of vertices, which visit their neighbours in turn.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "util/rng.hpp"

namespace hopbytes {

// Some vertices by class, and within a class in their order.
struct ClassOrder {
  static constexpr int64_t classes = 8;
  std::vector<int32_t> vertex;
  int64_t first[classes + 1];

  ClassOrder(const std::vector<int32_t>& some, uint64_t seed) : vertex(some.size()), first{} {
    auto class_of = [seed](int32_t v) { return mix(seed ^ static_cast<uint64_t>(v)) % classes; };
    for (const int32_t v : some) ++first[class_of(v) + 1];
    for (int64_t c = 0; c < classes; ++c) first[c + 1] += first[c];
    std::array<int64_t, classes> at;
    std::copy(first, first + classes, at.begin());
    for (const int32_t v : some) vertex[at[class_of(v)]++] = v;
  }
  std::span<const int32_t> of(int64_t c) const {
    return {vertex.data() + first[c], static_cast<size_t>(first[c + 1] - first[c])};
  }
};

}  // namespace hopbytes
