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
  // They lie in an array of int64: the compiler must not assume that they are apart from it.
  using Place32 [[gnu::may_alias]] = int32_t;
  using Hops16 [[gnu::may_alias]] = uint16_t;

  // Returns whether an array has the length that its numbers ask for, and rows inside the table.
  static bool fits(std::span<const int64_t> packed, size_t k) {
    const auto size = std::ssize(packed), pes = static_cast<int64_t>(k);
    constexpr int64_t head = 6 + 65, most = 1 << 20;  // most: without overflow below
    if (size < head || packed[0] < 0 || packed[0] > most || packed[5] < 0 || packed[5] > most) return false;
    const int64_t dimensions = packed[0], nodes = packed[5];
    const int64_t places = (pes * std::max<int64_t>(dimensions, 1) + 1) / 2;
    if (size < head + dimensions + places + (dimensions == 0 ? (nodes * nodes + 3) / 4 : 0)) return false;
    const auto* place = reinterpret_cast<const Place32*>(packed.data() + head);
    return dimensions > 0 ||
           std::all_of(place, place + pes, [&](int32_t row) { return row >= 0 && row < nodes; });
  }

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
    place = reinterpret_cast<const Place32*>(places);
    hops = reinterpret_cast<const Hops16*>(places + (k * std::max<int64_t>(dimensions, 1) + 1) / 2);
    packs = dimensions > 0 && dimensions <= most_packed;
    for (int64_t d = 0; d < dimensions; ++d) {
      packs = packs && ring_length[d] < 0x8000;
      if (packs) rings |= static_cast<uint64_t>(ring_length[d]) << (16 * d);
    }
  }

  // A place with all that distances from it need, so that searches which read many of them follow no pointers
  // on grids of up to four dimensions: the label, and the coordinates in 16 bits each or the row in the
  // table; on other grids the number of the PE.
  struct Place {
    uint64_t label, at;
    bool operator==(const Place&) const = default;
  };
  Place place_of(int32_t pe) const {
    if (dimensions == 0) return {label[pe], static_cast<uint64_t>(place[pe])};
    if (!packs) return {label[pe], static_cast<uint64_t>(pe)};
    uint64_t at = 0;
    for (int64_t d = 0; d < dimensions; ++d)
      at |= static_cast<uint64_t>(place[pe * dimensions + d]) << (16 * d);
    return {label[pe], at};
  }
  int64_t operator()(const Place& a, const Place& b) const {
    if (!packs && dimensions > 0) return (*this)(static_cast<int32_t>(a.at), static_cast<int32_t>(b.at));
    const auto width = static_cast<int>(std::bit_width(a.label ^ b.label));
    if (width <= within_node_bits) return within_node_cost[width];
    const int64_t length = dimensions == 0 ? hops[a.at * nodes + b.at] : packed_hops(a.at, b.at);
    return std::max(least, length * per_hop);
  }

  // Returns the sum of the distances along the rings of all dimensions at once. The highest bit of every 16
  // stays free for the comparisons.
  int64_t packed_hops(uint64_t a, uint64_t b) const {
    constexpr uint64_t high = 0x8000'8000'8000'8000, ones = 0x0001'0001'0001'0001;
    const auto all_bits = [](uint64_t highest) { return (highest - (highest >> 15)) | highest; };
    const uint64_t difference = (a | high) - b, below = ~difference & high;
    const uint64_t apart = ((difference ^ all_bits(below)) & ~high) + (below >> 15);
    const uint64_t around = rings - apart, shorter = ~((around | high) - apart) & high;
    const uint64_t least_way = apart ^ ((apart ^ around) & all_bits(shorter));
    return static_cast<int64_t>((least_way * ones) >> 48);
  }

  int64_t operator()(int32_t a, int32_t b) const {
    const auto width = static_cast<int>(std::bit_width(label[a] ^ label[b]));
    if (width <= within_node_bits) return within_node_cost[width];
    int64_t length = 0;
    if (dimensions == 0) {
      length = hops[place[a] * nodes + place[b]];
    } else {
      const Place32* from = place + a * dimensions;
      const Place32* to = place + b * dimensions;
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
  const Place32* place;
  const Hops16* hops;
  int64_t dimensions, per_hop, least, nodes;
  uint64_t rings = 0;  // the ring lengths in 16 bits each if `packs`
  int within_node_bits;
  bool packs = false;
  static constexpr int64_t most_packed = 4;
};

}  // namespace hopbytes
