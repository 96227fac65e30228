// The initial partition: blocks of the coarsest graph.
#pragma once
#include "graph/graph.hpp"
#include "partition/context.hpp"
#include "util/control.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Returns the block of every vertex. Blocks may be overloaded: the refiners of the coarsest graph mend it.
// They grow around the vertices that are fixed, or are made without them and then numbered so that few of
// these have to move: which is better depends on the number of fixed vertices, and on where they are.
template <class W>
std::vector<int32_t> initial_blocks(const Graph<W>& g, std::span<const int64_t> max_block_weight,
                                    const InitialContext& context, bool around_fixed, Rng& rng,
                                    const Control& control);

}  // namespace hopbytes
