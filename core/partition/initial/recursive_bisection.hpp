// Initial partitions of small graphs: recursive bisection by greedy graph growing, each bisection refined by
// FM.
#pragma once
#include <span>
#include <vector>

#include "util/control.hpp"
#include "util/rng.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

// Returns blocks with the given maximum weights. Every bisection is the best of `repetitions` grown ones.
// Vertices with a block in `home` that is not negative, if there is any, are fixed to it.
template <class W>
std::vector<int32_t> recursive_bisection(const Graph<W>& g, std::span<const int64_t> max_block_weight,
                                         const std::vector<int32_t>& home, int32_t repetitions, Rng& rng,
                                         const Control& control);

}  // namespace hopbytes
