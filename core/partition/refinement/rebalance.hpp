// Moves vertices out of overloaded blocks.
#pragma once
#include <queue>

#include "partition/refinement/refiner.hpp"
#include "util/vertex_heap.hpp"

namespace hopbytes {

// Moves vertices out of overloaded blocks at the least loss per load until no block is overloaded or no move
// fits. It overloads no other block. The boundary is known afterwards.
template <class W> class Rebalance : public Refiner<W> {
 public:
  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

 private:
  using Choice = typename Partition<W>::Choice;
  struct Room {
    int64_t room;
    int32_t block;
    bool operator<(const Room& other) const {
      return room != other.room ? room < other.room : block > other.block;
    }
  };

  void drain(Partition<W>& partition, int32_t block, const std::vector<int32_t>& members);
  Choice choose(Partition<W>& partition, int32_t v);
  int32_t most_room(const Partition<W>& partition);

  VertexHeap heap_;
  std::priority_queue<Room> rooms_;  // entries may be outdated, see most_room
  std::vector<int32_t> moved_, near_moves_;
};

}  // namespace hopbytes
