// Solves many independent subproblems in one call: every group of vertices is partitioned into its own number
// of blocks with its own maximum weights. The threads work on repetitions and recombinations; the result does
// not depend on which thread does what.
#pragma once
#include "util/control.hpp"
#include "graph/csr.hpp"
#include "partition/context.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

// Writes child[v], the block of v inside its group, and cut[group], the weight cut there. The maximum block
// weights of group g are max_block_weight[block_start[g] .. block_start[g+1]). `candidates` (may be empty) is
// a row-major (candidates x n) array of partitions from other sources that compete as further repetitions; a
// negative entry of a group's first vertex means that the row has none for that group.
template <class W>
void partition_many(const Graph<W>& g, In<int32_t> group, In<int64_t> block_start,
                    In<int64_t> max_block_weight, In<uint64_t> seed, In<int32_t> candidates,
                    const GroupSettings& settings, Control control, Out<int32_t> child, Out<int64_t> cut);

}  // namespace hopbytes
