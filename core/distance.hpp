// Distances between PEs as data. Kernels are templates over these three forms.
#pragma once
#include <bit>
#include <cstdint>
#include <span>

namespace hopbytes {

// All PEs equally far: the communication cost is the edge cut.
struct FlatDistance {
  int64_t operator()(int32_t a, int32_t b) const { return a != b; }
};

// Places in a tree: the highest bit in which two labels differ names the level where they part.
struct TreeDistance {
  const uint64_t* label;
  const int64_t* bit_cost;  // 65 entries, by width of the xor
  int64_t operator()(int32_t a, int32_t b) const { return bit_cost[std::bit_width(label[a] ^ label[b])]; }
};

// A dense symmetric k x k table.
struct TableDistance {
  const int64_t* table;
  int64_t k;
  int64_t operator()(int32_t a, int32_t b) const { return table[a * k + b]; }
};

}  // namespace hopbytes
