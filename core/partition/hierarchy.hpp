// A graph and its contractions, from fine to coarse.
#pragma once
#include "graph/graph.hpp"

namespace hopbytes {

template <class W> struct Level {
  Graph<W> graph;            // the coarse graph
  UnsetVector<int32_t> map;  // coarse vertex of every vertex of the next finer graph

  // Returns the values of the coarse vertices; vertices that were contracted to one have the same value.
  UnsetVector<int32_t> coarse_values(std::span<const int32_t> fine, Team& team) const {
    UnsetVector<int32_t> coarse(graph.n);  // Each coarse vertex has a member.
    parallel_ranges(std::ssize(map), kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) shared_store(coarse[map[v]], fine[v]);
    });
    return coarse;
  }
};

template <class W> class Hierarchy {
 public:
  // The finest graph is kept by reference.
  explicit Hierarchy(const Graph<W>& finest) : finest_(&finest) {}

  void push(Level<W> level) { levels_.push_back(std::move(level)); }
  // Frees the coarsest graph, which a partition was projected from.
  void remove_coarsest() { levels_.pop_back(); }

  // The number of contractions. Graph 0 is the finest one, graph size() the coarsest one.
  size_t size() const { return levels_.size(); }
  const Graph<W>& graph(size_t i) const { return i == 0 ? *finest_ : levels_[i - 1].graph; }
  const Graph<W>& coarsest() const { return graph(size()); }
  // The vertex of graph i + 1 that each vertex of graph i becomes.
  std::span<const int32_t> map(size_t i) const { return levels_[i].map; }

  // Returns the partition of the coarsest graph that equals a partition of the finest one. No contracted edge
  // may be cut.
  std::vector<int32_t> project_to_coarsest(std::span<const int32_t> block, Team& team) const {
    UnsetVector<int32_t> coarse;
    for (const Level<W>& level : levels_) {
      coarse = level.coarse_values(block, team);
      block = coarse;
    }
    return {block.begin(), block.end()};
  }

 private:
  const Graph<W>* finest_;
  std::vector<Level<W>> levels_;
};

}  // namespace hopbytes
