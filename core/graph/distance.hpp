// Distances between PEs as data. The kernels are templates over these forms.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace hopbytes {

// All PEs are equally far from each other: the communication cost is the edge cut.
struct FlatDistance {
  int64_t operator()(int32_t a, int32_t b) const { return a != b; }
};

// PEs in a tree: the highest bit in which two labels differ determines the level at which the PEs part.
struct TreeDistance {
  const uint64_t* label;
  const int64_t* bit_cost;  // 65 entries, indexed by the bit width of the xor
  // The number of bits up to the highest in which two labels differ.
  int width(int32_t a, int32_t b) const { return static_cast<int>(std::bit_width(label[a] ^ label[b])); }
  int64_t operator()(int32_t a, int32_t b) const { return bit_cost[std::bit_width(label[a] ^ label[b])]; }
};

// A dense symmetric k x k table.
struct TableDistance {
  const int64_t* table;
  int64_t k;
  int64_t operator()(int32_t a, int32_t b) const { return table[a * k + b]; }
};

// PEs on the nodes of a network: inside a node the distance is that of a tree; between nodes it is
// proportional to the number of hops. Hops come from the coordinates of a grid or from a table over the nodes
// in use.
// packed: dimensions (0 if there is a table), distance per hop, smallest distance between nodes, bits of a
// label inside a node, largest distance, nodes in the table, 65 costs by bit width of the xor, and per
// dimension the ring length (twice the size for a dimension without wrap-around); then per PE its coordinates
// or its row in the table as int32, then the table as uint16, each padded to whole int64.
struct NetworkDistance {
  NetworkDistance(const uint64_t* labels, std::span<const int64_t> packed, int64_t k)
      : label(labels),
        within_node_cost(packed.data() + 6),
        ring_length(within_node_cost + 65),
        dimensions(packed[0]),
        per_hop(packed[1]),
        least(packed[2]),
        nodes(packed[5]),
        within_node_bits(static_cast<int>(packed[3])) {
    const int64_t* places = ring_length + dimensions;
    place = reinterpret_cast<const int32_t*>(places);
    hops = reinterpret_cast<const uint16_t*>(places + (k * std::max<int64_t>(dimensions, 1) + 1) / 2);
  }

  int64_t operator()(int32_t a, int32_t b) const {
    const auto width = static_cast<int>(std::bit_width(label[a] ^ label[b]));
    if (width <= within_node_bits) return within_node_cost[width];
    int64_t length = 0;
    if (dimensions == 0) {
      length = hops[place[a] * nodes + place[b]];
    } else {
      const int32_t* from = place + a * dimensions;
      const int32_t* to = place + b * dimensions;
      for (int64_t d = 0; d < dimensions; ++d) {
        const int64_t apart = from[d] < to[d] ? to[d] - from[d] : from[d] - to[d];
        length += std::min(apart, ring_length[d] - apart);
      }
    }
    return std::max(least, length * per_hop);
  }

  const uint64_t* label;
  const int64_t* within_node_cost;
  const int64_t* ring_length;
  const int32_t* place;
  const uint16_t* hops;
  int64_t dimensions, per_hop, least, nodes;
  int within_node_bits;
};

}  // namespace hopbytes
