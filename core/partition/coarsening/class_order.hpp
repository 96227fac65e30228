// Classes of vertices, which visit their neighbours in turn.
#pragma once
#include <cstdint>
#include <span>

#include "util/bucket_order.hpp"
#include "util/rng.hpp"
#include "util/unset_vector.hpp"

namespace hopbytes {

// Some vertices by class, and within a class in their order.
struct ClassOrder {
  static constexpr int64_t classes = 8, per_range = 1 << 13;  // vertices that are counted in turn
  UnsetVector<int32_t> vertex;
  int64_t first[classes + 1];

  ClassOrder(std::span<const int32_t> some, uint64_t seed, Team& team) : vertex(some.size()), first{} {
    const auto class_of = [seed](int32_t v) { return mix(seed ^ static_cast<uint64_t>(v)) % classes; };
    order_by_bucket(
        std::ssize(some), classes, team, [&](int64_t i) { return class_of(some[i]); }, first,
        [&](int64_t i, int64_t position) { vertex[position] = some[i]; });
  }
  std::span<const int32_t> of(int64_t c) const {
    return {vertex.data() + first[c], static_cast<size_t>(first[c + 1] - first[c])};
  }
};

}  // namespace hopbytes
