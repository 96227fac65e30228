// Refinement of the cost by rounds of moves that several threads find.
#pragma once
#include "graph/any_distance.hpp"
#include "graph/graph.hpp"
#include "util/control.hpp"

namespace hopbytes {

struct SynchronousMoves {
  int64_t count = 0;           // of all rounds
  std::vector<int64_t> loads;  // of each block after them
};

// Moves vertices between blocks in synchronous rounds, after Jet (Gilbert, Madduri, Boman, Rajamanickam
// 2024) under the distances of the blocks. In a round every active vertex chooses the adjacent block with
// the largest gain as all blocks were before the round; a loss is tolerated up to a share of what its edges
// inside its block will cost. Then it computes its gain again, as if neighbours with a larger gain (of
// equal ones those with a smaller number) had already moved, and moves unless that is a loss (the
// afterburner). If more vertices want to enter a block than fit, those with the largest gains do, where
// room that others leave behind counts; after a round with hardly a better best only blocks with room are
// chosen, and after three such rounds in turn the search ends. Vertices that have moved rest for a round.
// Active are in the first round the vertices near a boundary, later those that moved or were refused, and
// neighbours of those that moved. The partition of the best round is kept: no block is overloaded that was
// not, the cost never rises, and the result does not depend on the number of threads.
//
// `near_boundary` is 1 for all vertices with a neighbour in another block, and for others perhaps; it stays
// so, and the first round unmarks those that have none. The distance must not be flat. At most so many
// rounds, O(degrees of the active vertices x adjacent blocks) each.
template <class W>
SynchronousMoves move_synchronously(const Graph<W>& g, const AnyDistance& distance,
                                    std::span<const int64_t> max_block_weight, int32_t rounds,
                                    const Control& control, std::span<uint8_t> near_boundary,
                                    std::span<int32_t> block);

}  // namespace hopbytes
