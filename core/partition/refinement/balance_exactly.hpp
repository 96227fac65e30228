// Balances blocks of unit loads exactly, by chains of moves through several blocks.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/any_graph.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Moves vertices along the cheapest chain from an overloaded block to an underloaded one, until no chain
// exists or all blocks are balanced. Loads must be 1 each, and the sizes must add up to n. Returns whether
// any vertex moved. O(n + m + k^2) for the first scan of the graph; later ones look at the blocks that have
// changed, and their number grows with the logarithm of the overload.
bool balance_exactly(const AnyGraph& g, int32_t* part, std::vector<int64_t>& load,
                     std::span<const int64_t> size, const Control& control);

}  // namespace hopbytes
