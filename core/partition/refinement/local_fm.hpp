// Localised multi-try FM on the communication cost, for k blocks, with rollback.
//
// One round visits every boundary vertex as a seed. A search starts from a few seeds, repeatedly moves the
// vertex with the largest gain (which may be negative), locks it, updates its neighbours, and stops after
// `fruitless_moves` moves without a new best; then it rolls back to the best state. A vertex moves at most
// once per round, and the work of a call is limited: on the dense coarse graphs of a random graph a move
// changes the gains of hundreds of neighbours. (Sanders, Schulz 2011, "multi-try FM"; here on J for any
// distance. Inside a search a block may be overloaded by the load of one vertex, so that exactly full blocks
// can exchange vertices.)
#pragma once
#include "partition/refinement/refiner.hpp"
#include "util/vertex_heap.hpp"

namespace hopbytes {

template <class W> class LocalFm : public Refiner<W> {
 public:
  explicit LocalFm(const FmContext& context) : context_(context) {}

  // The boundary is known afterwards.
  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

 private:
  using Choice = typename Partition<W>::Choice;
  struct Move {
    int32_t vertex, from;
  };

  int64_t run_round(Partition<W>& partition, Rng& rng, const Control& control);
  int64_t search(Partition<W>& partition);
  void update(Partition<W>& partition, int32_t v);
  bool within_limit(const Partition<W>& partition) const { return partition.scanned_edges() < work_limit_; }

  FmContext context_;
  int64_t work_limit_ = 0;      // of Partition::scanned_edges(), for one call
  int64_t slack_ = 0;           // permitted overload of a block inside a search
  std::vector<uint8_t> moved_in_round_;
  std::vector<int32_t> seeds_;  // boundary vertices from which the searches of a round start
  std::vector<int32_t> moved_;  // permanently, in the last round
  std::vector<Move> log_;
  VertexHeap heap_;
};

}  // namespace hopbytes
