// Localised multi-try FM on the communication cost, for k blocks, with rollback.
//
// One round visits every boundary vertex as a seed. A search starts from a few seeds, repeatedly moves the
// vertex with the largest gain (which may be negative), locks it, updates its neighbours, and stops after
// `fruitless_moves` moves without a new best; then it rolls back to the best state. A vertex moves at most
// once per round, and the work of a call is limited: on the dense coarse graphs of a random graph a move
// changes the gains of hundreds of neighbours. (Sanders, Schulz 2011, "multi-try FM"; here on J for any
// distance. Inside a search a block may be overloaded by the load of one vertex, so that exactly full blocks
// can exchange vertices.)
//
// Searches run in batches, which threads share. Those of a batch start from the same state and do not see
// each other; then the moves of each are made in turn, as far as they still gain. What makes a batch
// depends on seeds and gains only, so the result is the same for any number of threads.
#pragma once
#include "partition/refinement/fm_search.hpp"
#include "partition/refinement/refiner.hpp"

namespace hopbytes {

template <class W> class LocalFm : public Refiner<W> {
 public:
  explicit LocalFm(const FmContext& context) : context_(context) {}

  // The boundary is known afterwards.
  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

 private:
  using Result = typename FmSearch<W>::Result;
  struct Move {
    int32_t vertex, from;
  };
  // What became of a batch; work is in scanned edges.
  struct Outcome {
    int64_t gain = 0, work = 0;
    int64_t outdated = 0;  // work of searches that others left less than half of their gain
  };

  int64_t run_round(Partition<W>& partition, Rng& rng, const Control& control);
  int64_t take_seeds(int64_t most);
  void search(Partition<W>& partition, int64_t count, const Control& control);
  Outcome make_moves(Partition<W>& partition, int64_t count);
  int64_t make_moves_of(Partition<W>& partition, const Result& found);
  std::span<const int32_t> seeds_of(int64_t search) const;
  int64_t seeds_per_search() const { return std::max(1, context_.seeds); }
  int64_t searches_from(int64_t seeds) const { return (seeds + seeds_per_search() - 1) / seeds_per_search(); }
  int64_t work_left(const Partition<W>& partition) const {
    return work_limit_ - searched_ - partition.scanned_edges();
  }

  FmContext context_;
  int64_t work_limit_ = 0;  // of scanned edges, for one call
  int64_t searched_ = 0;    // edges scanned by the searches of this call
  int64_t slack_ = 0;       // permitted overload of a block inside a search
  int32_t fruitless_ = 0;   // consecutive searches without a gain
  std::vector<uint8_t> moved_in_round_;
  std::vector<int32_t> seeds_;  // boundary vertices from which the searches of a round start
  size_t next_seed_ = 0;
  std::vector<int32_t> batch_;  // seeds of the searches of a batch
  std::vector<int32_t> moved_;  // permanently, in the last round
  std::vector<Move> log_;
  std::vector<FmSearch<W>> searches_;  // one for each thread
  std::vector<Result> found_;          // by the searches of a batch
};

}  // namespace hopbytes
