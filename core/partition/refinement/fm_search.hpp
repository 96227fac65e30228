// One search of localised FM.
#pragma once
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
           const Limits& limits, Result& result) {
    delta_.start(partition, locked);
    for (const int32_t v : seeds)
      if (!locked[v]) update(delta_.touch(v), limits.slack);
    result.moves.clear();
    int64_t gain = 0, best_gain = 0;
    size_t best_length = 0;
    int64_t over = 0;  // overload relative to the start of the search
    int32_t fruitless = 0;
    while (!heap_.empty() && fruitless <= limits.fruitless_moves &&
           delta_.scanned_edges() < limits.most_work) {
      const int32_t i = heap_.top();
      const Choice choice = delta_.choose(i, limits.slack);
      if (choice.block < 0) {
        heap_.pop();
        continue;
      }
      if (choice.gain < heap_.top_key()) {  // Loads have changed since the vertex was queued.
        heap_.change(i, choice.gain);
        if (heap_.top() != i) continue;
      }
      heap_.pop();
      const int32_t from = delta_.block(i);
      over -= delta_.excess(from) + delta_.excess(choice.block);
      delta_.move(i, choice.block, [&](int32_t j) { update(j, limits.slack); });
      over += delta_.excess(from) + delta_.excess(choice.block);
      result.moves.push_back({delta_.vertex(i), choice.block});
      gain += choice.gain;
      if (over <= 0 && (gain > best_gain || over < 0)) {
        best_gain = gain, best_length = result.moves.size(), fruitless = 0;
        if (over < 0) over = 0;
      } else {
        ++fruitless;
      }
    }
    heap_.clear();
    result.moves.resize(best_length);
    result.gain = best_gain;
    result.scanned_edges = delta_.scanned_edges();
    result.computed.swap(delta_.computed());
    result.computed_rows.swap(delta_.computed_rows());
  }

 private:
  using Choice = typename Partition<W>::Choice;

  // Queues a vertex under its present gain, if it may move.
  void update(int32_t i, int64_t slack) {
    heap_.resize(delta_.count());
    const Choice choice = delta_.choose(i, slack);
    if (choice.block >= 0) heap_.set(i, choice.gain);
    else if (heap_.contains(i)) heap_.remove(i);
  }

  DeltaPartition<W> delta_;
  VertexHeap heap_;  // of local numbers
};

}  // namespace hopbytes
