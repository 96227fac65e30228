// Refinement of a partition into blocks of given sizes by two-way FM between pairs of adjacent blocks.
#pragma once
#include "partition/refinement/refiner.hpp"
#include "partition/refinement/two_way_fm.hpp"
#include "partition/score.hpp"

namespace hopbytes {

// A vertex on the boundary between two blocks.
struct PairVertex {
  int64_t pair;  // a * k + b for blocks a < b
  int32_t vertex;
};

// Only edges count, whatever the distances.
template <class W> class PairwiseFm : public Refiner<W> {
 public:
  // With at most so many blocks the boundary is sorted by counting.
  static constexpr int32_t kFewBlocks = 64;

  // The sizes are kept by reference.
  PairwiseFm(std::span<const int64_t> size, const ExactContext& context)
      : k_(static_cast<int32_t>(size.size())),
        rounds_(context.rounds),
        fruitless_moves_(context.fruitless_moves),
        size_(size),
        load_(k_, 0),
        fm_(size, load_) {}
  PairwiseFm(const PairwiseFm&) = delete;

  // Makes refine() search only what differs from this partition of the finest graph, where it is reached by
  // uncoarsening: the other searches were made before. Null ends that.
  void compare_with(const std::vector<int32_t>* refined) { refined_ = refined; }

  // The result of a run does not depend on earlier ones, so runs may be distributed among several objects.
  void start() override { fm_.forget_searches(); }

  // Refines pairs of adjacent blocks until no pair gains. After the first round it searches only pairs with a
  // boundary vertex that moved in the previous round or has a neighbour that did: all other searches would
  // repeat themselves.
  void refine(Partition<W>& partition, Rng&, const Control& control) override {
    attach(partition);
    refine_attached(partition, control);
  }

  // For repeated calls with one graph: prepares the queues for it; only the contents of the array of blocks
  // may change until the next attach().
  void attach(Partition<W>& partition);
  void refine_attached(Partition<W>& partition, const Control& control);
  // Searches once between the blocks 0 and 1 from the given vertices. Returns whether the state became
  // better.
  bool improve_bisection(Partition<W>& partition, std::span<const int32_t> vertices, const Control& control);

  // The edge cut, and how far blocks are above their sizes by more than one vertex.
  Score quality(const Partition<W>& partition) const;

 private:
  bool improve(int32_t a, int32_t b, std::span<const int32_t> seeds, const Control& control);
  void mark(int32_t v);
  void find_boundary(const Control& control);
  void append_boundary(int64_t begin, int64_t end, std::vector<PairVertex>& found) const;
  void append_boundary_of_two(int64_t begin, int64_t end, std::vector<PairVertex>& found) const;
  void sort_by_counting();

  int32_t k_, rounds_, fruitless_moves_;
  std::span<const int64_t> size_;
  std::vector<int64_t> load_;
  TwoWayFm<W> fm_;
  std::vector<PairVertex> boundary_, sorted_;
  const Graph<W>* g_ = nullptr;
  int32_t* part_ = nullptr;
  const std::vector<int32_t>* refined_ = nullptr;
  std::vector<uint8_t> active_;   // whether a block changed in the previous round
  std::vector<int32_t> changed_;  // the round in which a vertex or one of its neighbours moved last
  int32_t round_number_ = 0;      // over all calls
};

}  // namespace hopbytes
