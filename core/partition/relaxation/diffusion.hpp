// Diffusion of the blocks of a partition over the graph.
#pragma once
#include <memory>
#include <vector>

#include "partition/group_members.hpp"
#include "partition/hierarchy.hpp"
#include "partition/relaxation/block_shares.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Every vertex starts with a share of 1 of its own block. In a step it keeps half of its shares and takes the
// other half from its neighbours, in proportion to the weights of the edges (a lazy random walk). To spread
// over a distance takes its square in steps, so most steps are made on the coarsest graph of a hierarchy:
// its vertices start with the shares of their contents, and the result is handed down from graph to graph,
// with a few steps on each.
template <class W> class Diffusion {
 public:
  // The hierarchy is kept by reference.
  Diffusion(const Hierarchy<W>& hierarchy, int64_t blocks, const Control& control);

  // Returns the shares of the vertices of the finest graph. Ends early if control asks to stop. O(n + m) per
  // step. The result does not depend on the number of threads.
  const BlockShares& spread(const std::vector<int32_t>& block);

 private:
  void start_on_coarsest(const std::vector<int32_t>& block);
  void hand_down(size_t level);
  void step(size_t level);
  template <class Work> void for_vertices(int64_t n, Work work);

  const Hierarchy<W>& hierarchy_;
  int64_t blocks_;
  const Control& control_;
  GroupMembers contents_;                          // of the coarsest vertices
  std::vector<std::vector<float>> one_per_weight_;  // 1 / weighted degree, of every graph
  BlockShares now_, next_;
  std::vector<std::unique_ptr<ShareSum>> sums_;  // of each thread
};

}  // namespace hopbytes
