// Refinement of a partition into blocks of given sizes by two-way FM between pairs of adjacent blocks.
#pragma once
#include "partition/refinement/block_boundaries.hpp"
#include "partition/refinement/refiner.hpp"
#include "partition/refinement/two_way_fm.hpp"
#include "partition/score.hpp"

namespace hopbytes {

// Only edges count, whatever the distances.
template <class W> class PairwiseFm : public Refiner<W> {
 public:
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
  void attach(Partition<W>& partition) {
    g_ = &partition.graph();
    part_ = partition.blocks().data();
    fm_.attach(*g_, part_);
  }

  void refine_attached(Partition<W>& partition, const Control& control) {
    load_ = partition.loads();
    fm_.weigh_blocks();
    const bool compare = refined_ && partition.projected() && static_cast<int64_t>(refined_->size()) == g_->n;
    active_.assign(k_, compare ? 0 : 1);
    if (static_cast<int64_t>(changed_.size()) < g_->n) changed_.resize(g_->n, 0);
    ++round_number_;
    for (int32_t v = 0; compare && v < g_->n; ++v)
      if (part_[v] != (*refined_)[v]) active_[part_[v]] = active_[(*refined_)[v]] = 1, mark(v);
    const AnyGraph graph(*g_);
    std::vector<int32_t> moved;
    for (int32_t round = 0; round < rounds_ && !control.should_stop(); ++round) {
      if (std::find(active_.begin(), active_.end(), 1) == active_.end()) break;
      partition.find_boundary();
      find_boundary_vertices(graph, {}, partition.blocks(), partition.boundary(), active_, control,
                             boundary_);
      moved.clear();
      std::vector<uint8_t> next(k_, 0);
      const int32_t before = round_number_++;
      for (const AdjacentBlocks& pair : adjacent_blocks(boundary_)) {
        const std::vector<int32_t> seeds = pair.vertices(boundary_);
        const bool differs =
            (round == 0 && !compare) ||
            std::any_of(seeds.begin(), seeds.end(), [&](int32_t v) { return changed_[v] >= before; });
        if (!differs) continue;
        const bool better = improve(pair.a, pair.b, seeds, control);
        moved.insert(moved.end(), fm_.moved().begin(), fm_.moved().end());
        if (!better) continue;  // Loads may be nearer to their targets at the same cut.
        next[pair.a] = next[pair.b] = 1;
        for (const int32_t v : fm_.moved()) mark(v);
      }
      if (!moved.empty()) partition.blocks_were_changed(moved, load_);
      active_.swap(next);
    }
  }

  // Searches once between the blocks 0 and 1 from the given vertices. Returns whether the state became
  // better.
  bool improve_bisection(Partition<W>& partition, std::span<const int32_t> vertices, const Control& control) {
    load_ = partition.loads();
    fm_.weigh_blocks();
    const bool better = improve(0, 1, vertices, control);
    partition.blocks_were_changed();
    return better;
  }

  // The edge cut, and how far blocks are above their sizes by more than one vertex.
  Score quality(const Partition<W>& partition) const {
    Score s{0, edge_cut(partition.graph(), partition.blocks().data())};
    for (int32_t b = 0; b < k_; ++b)
      s.overload +=
          std::max<int64_t>(0, partition.loads()[b] - size_[b] - allowed_imbalance(partition.graph()));
    return s;
  }

 private:
  static int64_t allowed_imbalance(const GraphShape& g) { return g.max_load == 1 ? 0 : g.max_load; }

  bool improve(int32_t a, int32_t b, std::span<const int32_t> seeds, const Control& control) {
    typename TwoWayFm<W>::Limits limits;
    limits.window = g_->max_load;  // The window is one vertex: wider windows were measured and were worse.
    limits.allowed_imbalance = allowed_imbalance(*g_);
    limits.fruitless_moves = g_->max_load == 1 ? fruitless_moves_ * 3 / 5 : fruitless_moves_;
    int64_t gain = 0;
    const bool better = fm_.improve(a, b, seeds, limits, control.team(), gain);
    control.record_parallel_work(fm_.scanned_edges(), fm_.span());
    return better;
  }

  // Records that v and its neighbourhood have changed.
  void mark(int32_t v) {
    changed_[v] = round_number_;
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) changed_[g_->adj[e]] = round_number_;
  }

  int32_t k_, rounds_, fruitless_moves_;
  std::span<const int64_t> size_;
  std::vector<int64_t> load_;
  TwoWayFm<W> fm_;
  BoundaryVertices boundary_;
  const Graph<W>* g_ = nullptr;
  int32_t* part_ = nullptr;
  const std::vector<int32_t>* refined_ = nullptr;
  std::vector<uint8_t> active_;   // whether a block changed in the previous round
  std::vector<int32_t> changed_;  // the round in which a vertex or one of its neighbours moved last
  int32_t round_number_ = 0;      // over all calls
};

}  // namespace hopbytes
