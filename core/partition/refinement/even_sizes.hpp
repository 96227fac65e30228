// Gives many blocks of unit loads their exact sizes, where they miss them by a few vertices, at little loss
// under the distances of the blocks.
//
// balance_exactly() finds the best chain of moves between any two of a few blocks. Among hundreds of blocks
// the nearest block with room is good enough, and only neighbouring blocks exchange vertices.
#pragma once
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/any_distance.hpp"
#include "graph/any_graph.hpp"
#include "util/control.hpp"

namespace hopbytes {

class EvenSizes {
 public:
  // Moves vertices along the cheapest chains from blocks above their sizes to blocks below. Loads must be 1
  // each, and the sizes must add up to n. Returns whether all blocks have their sizes then.
  bool refine(const AnyGraph& g, const AnyDistance& distance, std::vector<int32_t>& block,
              std::vector<int64_t>& load, std::span<const int64_t> size, const Control& control);

 private:
  struct Move {
    int32_t from, to;
    int64_t loss;
    int32_t vertex;
    auto key() const { return std::tuple(from, to, loss, vertex); }
  };
  void find_moves(const AnyGraph& g, const AnyDistance& distance, const std::vector<int32_t>& block,
                  int32_t k);
  bool follow_chain(int32_t from, std::vector<int32_t>& block, std::vector<int64_t>& load,
                    std::span<const int64_t> size);
  void make_moves(int32_t from, int32_t to, std::vector<int32_t>& block);

  std::vector<Move> moves_;  // by blocks
  std::vector<int64_t> first_;  // of the moves of each block
  std::vector<uint8_t> used_;
  std::vector<std::pair<int64_t, int32_t>> best_;  // loss and number of moves up to each block
  std::vector<int64_t> move_;  // the last move of the chain to each block
};

}  // namespace hopbytes
