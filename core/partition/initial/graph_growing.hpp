// Greedy graph growing: a block that grows vertex by vertex out of another one.
#pragma once
#include "graph/graph.hpp"
#include "util/vertex_heap.hpp"

namespace hopbytes {

template <class W> class GraphGrowing {
 public:
  // The graph is kept by reference. O(n + m).
  void attach(const Graph<W>& g) {
    g_ = &g;
    degree_.assign(g.n, 0);
    for (int64_t v = 0; v < g.n; ++v)
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) degree_[v] += g.weight[e];
  }

  // All vertices are in one block; some of them move to `block`, until it weighs about `target`. It takes the
  // vertex with the largest difference between its weight into the block and its weight out of it. Where it
  // starts, and where it goes on when a component ends, is start(), a vertex that is still outside. Vertices
  // with a block in `home` that is not negative, if there is any, are fixed to it; `block` begins with its
  // own, and start() is none of them.
  template <class Start>
  void grow(std::vector<int32_t>& part, int32_t block, int64_t target, Start start,
            std::span<const int32_t> home = {}) {
    const Graph<W>& g = *g_;
    key_.resize(g.n);  // weight into the block minus weight out of it
    for (int64_t v = 0; v < g.n; ++v) key_[v] = -degree_[v];
    heap_.resize(g.n);
    const auto is_fixed = [&](int32_t v) { return !home.empty() && home[v] >= 0; };
    int64_t grown = 0, outside = g.n;
    const auto take = [&](int32_t v) {
      part[v] = block;
      grown += g.load[v];
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        const int32_t u = g.adj[e];
        if (part[u] == block || is_fixed(u)) continue;
        key_[u] += g.weight[e];
        key_[u] += g.weight[e];  // added twice, because 2 w may exceed an int64
        if (heap_.contains(u)) heap_.change(u, key_[u]);
        else heap_.push(u, key_[u]);
      }
    };
    for (size_t v = 0; v < home.size(); ++v) {
      outside -= home[v] >= 0;
      if (home[v] == block) take(static_cast<int32_t>(v));
    }
    while (grown < target && outside > 0) {
      if (heap_.empty()) {
        const int32_t v = start();
        heap_.push(v, key_[v]);
      }
      const int32_t v = heap_.top();
      heap_.pop();
      // The vertex that crosses the target is taken only if the load comes nearer to the target.
      if (grown + g.load[v] - target > target - grown && grown > 0) {
        if (heap_.empty()) break;
        continue;
      }
      --outside;
      take(v);
    }
    heap_.clear();
  }

 private:
  const Graph<W>* g_ = nullptr;
  std::vector<int64_t> degree_, key_;
  VertexHeap heap_;
};

}  // namespace hopbytes
