// Improves a mapping in which every PE holds an exact number of tasks of load 1, under its true distances.
#pragma once
#include <span>

#include "graph/any_distance.hpp"
#include "graph/graph.hpp"
#include "partition/context.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Anneals the boundaries of PEs if that suits (annealing.hpp), and gives the PEs their sizes, which `pe` need
// not have before. Sizes must add up to the number of tasks. Returns whether all PEs have their sizes then;
// the mapping may cost more than before, since exchanges of tasks are expected to follow.
template <class W>
bool even_placement(const Graph<W>& g, const AnyDistance& distance, std::span<const int64_t> size,
                    uint64_t seed, const AnnealingContext& annealing, const Control& control,
                    std::span<int32_t> pe);

}  // namespace hopbytes
