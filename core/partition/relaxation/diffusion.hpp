// Diffusion of the blocks of a partition over the graph.
#pragma once
#include <numeric>

#include "partition/group_members.hpp"
#include "partition/hierarchy.hpp"
#include "partition/relaxation/block_shares.hpp"

namespace hopbytes {

// Every vertex starts with a share of 1 of its own block. In a step it keeps half of its shares and takes the
// other half from its neighbours, in proportion to the weights of the edges (a lazy random walk). To spread
// over a distance takes its square in steps, so most steps are made on the coarsest graph of a hierarchy:
// its vertices start with the shares of their contents, and the result is handed down from graph to graph,
// with a few steps on each.
template <class W> class Diffusion {
 public:
  // The hierarchy is kept by reference.
  Diffusion(const Hierarchy<W>& hierarchy, int64_t blocks, const Control& control)
      : hierarchy_(hierarchy),
        blocks_(blocks),
        control_(control),
        contents_(coarsest_vertices(), hierarchy.coarsest().n),
        sums_(control.threads()) {
    for (size_t level = 0; level <= hierarchy.size(); ++level)
      one_per_weight_.push_back(inverse_degrees(hierarchy.graph(level)));
  }

  // Returns the shares of the vertices of the finest graph. Ends early if control asks to stop. O(n + m) per
  // step. The result does not depend on the number of threads.
  const BlockShares& spread(const std::vector<int32_t>& block) {
    // Measured on meshes: fewer steps keep blocks where they are, more cost time.
    constexpr double steps_per_vertex_of_a_block = 0.3;
    constexpr int64_t steps_on_finer_graphs = 4, most_steps = 100;
    start_on_coarsest(block);
    const double per_block =
        static_cast<double>(hierarchy_.coarsest().n) / static_cast<double>(std::max<int64_t>(1, blocks_));
    const auto steps = static_cast<int64_t>(steps_per_vertex_of_a_block * per_block);
    for (int64_t i = 0; i < std::clamp<int64_t>(steps, 2, most_steps); ++i) step(hierarchy_.size());
    for (size_t level = hierarchy_.size(); level-- > 0;) {
      hand_down(hierarchy_.map(level));
      for (int64_t i = 0; i < steps_on_finer_graphs; ++i) step(level);
    }
    return now_;
  }

 private:
  static constexpr int64_t kRange = 1 << 12;  // vertices that a thread takes at once

  // Returns the coarsest vertex of every vertex of the finest graph.
  std::vector<int32_t> coarsest_vertices() const {
    std::vector<int32_t> at(hierarchy_.graph(0).n);
    parallel_ranges(std::ssize(at), kRange, control_.team(), [&](int32_t, int64_t begin, int64_t end) {
      std::iota(at.begin() + begin, at.begin() + end, static_cast<int32_t>(begin));
      for (size_t level = 0; level < hierarchy_.size(); ++level)
        for (int64_t v = begin; v < end; ++v) at[v] = hierarchy_.map(level)[at[v]];
    });
    return at;
  }

  std::vector<float> inverse_degrees(const Graph<W>& g) const {
    std::vector<float> inverse(g.n);
    parallel_ranges(g.n, kRange, control_.team(), [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) {
        double degree = 0;
        for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) degree += static_cast<double>(g.weight[e]);
        inverse[v] = degree > 0 ? static_cast<float>(1 / degree) : 0.0F;
      }
    });
    return inverse;
  }

  // Calls work(v, sum) for all vertices of a graph, where `sum` belongs to the thread.
  template <class Work> void for_vertices(int64_t n, Work work) {
    parallel_ranges(n, kRange, control_.team(), [&](int32_t worker, int64_t begin, int64_t end) {
      if (!sums_[worker]) sums_[worker] = std::make_unique<ShareSum>(blocks_);
      for (int64_t v = begin; v < end; ++v) work(v, *sums_[worker]);
    });
  }

  void start_on_coarsest(const std::vector<int32_t>& block) {
    const Weights<int64_t> load = hierarchy_.graph(0).load;
    const int64_t n = hierarchy_.coarsest().n;
    now_.resize(n);
    for_vertices(n, [&](int64_t c, ShareSum& sum) {
      double total = 0;
      for (const int32_t v : contents_.of(c)) total += static_cast<double>(std::max<int64_t>(1, load[v]));
      for (const int32_t v : contents_.of(c))
        sum.add(block[v], static_cast<float>(static_cast<double>(std::max<int64_t>(1, load[v])) / total));
      sum.move_to(now_, c);
    });
  }

  void hand_down(std::span<const int32_t> map) {
    next_.resize(std::ssize(map));
    for_vertices(std::ssize(map), [&](int64_t v, ShareSum&) { next_.set(v, now_.of(map[v])); });
    std::swap(now_, next_);
  }

  void step(size_t level) {
    if (control_.should_stop()) return;
    const Graph<W>& g = hierarchy_.graph(level);
    next_.resize(g.n);
    for_vertices(g.n, [&](int64_t v, ShareSum& sum) {
      const int32_t own = now_.first_block(v);
      bool inside = now_.undivided(v);
      for (int64_t e = g.start[v]; inside && e < g.start[v + 1]; ++e)
        inside = now_.undivided(g.adj[e]) && now_.first_block(g.adj[e]) == own;
      if (inside) return next_.set_undivided(v, own);
      constexpr float kept = 0.5F;
      sum.add(now_.of(v), kept);
      const float taken = (1 - kept) * one_per_weight_[level][v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
        sum.add(now_.of(g.adj[e]), taken * static_cast<float>(g.weight[e]));
      sum.move_to(next_, v);
    });
    std::swap(now_, next_);
    control_.record_parallel_work(g.n + g.arcs(), std::min(g.n, kRange) + most_arcs_of_range(g, kRange));
  }

  const Hierarchy<W>& hierarchy_;
  int64_t blocks_;
  const Control& control_;
  GroupMembers contents_;                          // of the coarsest vertices
  std::vector<std::vector<float>> one_per_weight_;  // 1 / weighted degree, of every graph
  BlockShares now_, next_;
  std::vector<std::unique_ptr<ShareSum>> sums_;  // of each thread
};

}  // namespace hopbytes
