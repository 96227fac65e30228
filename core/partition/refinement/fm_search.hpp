// One search of localised FM.
#pragma once
#include <span>
#include <vector>

#include "partition/refinement/delta_partition.hpp"
#include "util/vertex_heap.hpp"

namespace hopbytes {

// From a few seeds it repeatedly moves the vertex with the largest gain, which may be negative, locks it,
// updates its neighbours, and stops after some moves without a new best. The partition stays as it is.
template <class W> class FmSearch {
 public:
  struct Move {
    int32_t vertex, to;
  };
  // The moves up to the best state, and what the search found out on the way.
  struct Result {
    std::vector<Move> moves;
    int64_t gain = 0;
    int64_t scanned_edges = 0;
    std::vector<int32_t> computed;  // vertices whose rows the partition did not know, and these rows
    std::vector<W> computed_rows;
  };
  struct Limits {
    int32_t fruitless_moves = 40;
    int64_t slack = 0;  // permitted overload of a block inside a search
    int64_t most_work = 0;  // scanned edges
  };

  // Vertices marked in `locked` do not move.
  void run(const Partition<W>& partition, std::span<const int32_t> seeds, const std::vector<uint8_t>& locked,
           const Limits& limits, Result& result);

 private:
  using Choice = typename Partition<W>::Choice;

  void update(int32_t i, int64_t slack);

  DeltaPartition<W> delta_;
  VertexHeap heap_;  // of local numbers
};

}  // namespace hopbytes
