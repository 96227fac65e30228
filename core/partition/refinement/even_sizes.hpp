// Gives blocks of unit loads their exact sizes, where they miss them by a few vertices, at little loss under
// the distances of the blocks: by chains of moves through several blocks.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"
#include "partition/group_members.hpp"
#include "util/control.hpp"
#include "util/sparse_sums.hpp"
#include "util/vertex_heap.hpp"

namespace hopbytes {

class EvenSizes {
 public:
  // Moves vertices along the cheapest chains from blocks above their sizes to blocks below. Loads must be 1
  // each, and the sizes must add up to n. Returns whether all blocks have their sizes then.
  bool refine(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
              std::vector<int64_t>& load, std::span<const int64_t> size, const Control& control);

 private:
  static constexpr int64_t kFew = 16;  // of which one moves at a time

  struct Move {
    int32_t from = -1, to = -1;
    int64_t loss = 0;
    int32_t vertex = -1;
    auto key() const { return std::tuple(to, loss, vertex); }
  };
  struct Link {
    int32_t from, to;
    std::vector<int32_t> moved;
  };

  template <class D>
  int64_t find_moves(const AnyGraph& g, const D& distance, const std::vector<int32_t>& block,
                     int32_t roomiest);
  bool follow_chain(const AnyGraph& g, const AnyDistance& distance, int32_t from, std::vector<int32_t>& block,
                    std::vector<int64_t>& load, std::span<const int64_t> size);
  void make_moves(const AnyGraph& g, int32_t from, int32_t to, std::vector<int32_t>& block);
  int64_t make_many_moves(const AnyGraph& g, const AnyDistance& distance, int32_t from, int32_t to,
                          int64_t most, std::vector<int32_t>& block);
  template <class D>
  void move_along(const AnyGraph& g, const D& distance, std::span<const int32_t> members, int64_t count,
                  Link& link, std::vector<int32_t>& block);
  void mark_stale(const AnyGraph& g, int32_t v, const std::vector<int32_t>& block);

  std::optional<GroupMembers> members_;  // of the blocks of many moves
  VertexHeap heap_;
  SparseSums sums_;  // of the weights from a vertex into each block
  std::vector<std::vector<Move>> moves_;  // of every block, by the other block
  std::vector<uint8_t> stale_;  // whether the moves of a block may have changed
  std::vector<uint8_t> used_;
  std::vector<std::pair<int64_t, int32_t>> best_;  // loss and number of moves up to each block
  std::vector<const Move*> move_;  // the last move of the chain to each block
  std::vector<int32_t> reached_;  // the blocks of which `best_` and `move_` are set
};

}  // namespace hopbytes
