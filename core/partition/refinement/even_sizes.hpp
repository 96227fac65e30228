// Gives blocks of unit loads their exact sizes, where they miss them by a few vertices, at little loss under
// the distances of the blocks: by chains of moves through several blocks.
#pragma once
#include "partition/partition.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Moves vertices along the cheapest chains from blocks above their sizes, which are the maximum block
// weights, to blocks below. Loads must be 1 each, and the sizes must add up to n. Returns whether all blocks
// have their sizes then.
template <class W> bool even_sizes(Partition<W>& partition, const Control& control);

}  // namespace hopbytes
