// Groups of vertices and the subgraphs that they induce.
#pragma once
#include "graph/graph.hpp"
#include "util/control.hpp"
#include "util/bucket_order.hpp"

namespace hopbytes {

// The vertices of every group in ascending order. A single group of all vertices takes no memory.
// O(n + groups).
class GroupMembers {
 public:
  GroupMembers(std::span<const int32_t> group, int64_t groups, Team& team = Team::alone())
      : start_(groups + 1, 0) {
    if (groups == 1) {
      start_[1] = std::ssize(group);
      return;
    }
    members_.resize(group.size());
    local_.resize(group.size());
    order_by_bucket(
        std::ssize(group), groups, team, [&](int64_t v) { return group[v]; }, start_,
        [&](int64_t v, int64_t position) {
          local_[v] = static_cast<int32_t>(position - start_[group[v]]);
          members_[position] = static_cast<int32_t>(v);
        });
  }

  int64_t size(int64_t g) const { return start_[g + 1] - start_[g]; }
  // The vertex at a position among the members of a group.
  int32_t vertex(int64_t g, int64_t position) const {
    return members_.empty() ? static_cast<int32_t>(position) : members_[start_[g] + position];
  }
  // Where there are several groups.
  std::span<const int32_t> of(int64_t g) const {
    return {members_.data() + start_[g], static_cast<size_t>(start_[g + 1] - start_[g])};
  }
  // Gives the members of a group the blocks `inner`, numbered from `first` on.
  void number(int64_t g, int32_t first, std::span<const int32_t> inner, std::span<int32_t> block,
              Team& team = Team::alone()) const {
    parallel_ranges(size(g), kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) block[vertex(g, i)] = first + inner[i];
    });
  }
  // The position of a vertex among the members of its group, where there are several.
  int32_t local(int32_t v) const { return local_[v]; }

 private:
  std::vector<int64_t> start_;
  UnsetVector<int32_t> members_, local_;
};

// Returns the subgraph induced by a group; group[v] is the group of v. O(arcs of the members).
template <class W>
Graph<W> induced(const Graph<W>& g, const GroupMembers& members, std::span<const int32_t> group, int32_t id) {
  const std::span<const int32_t> inside = members.of(id);
  int64_t bound = 0;
  for (const int32_t v : inside) bound += g.degree(v);
  Graph<W> sub;
  const bool unit_weights = g.weight.all_one(), unit_loads = g.load.all_one();
  sub.allocate(std::ssize(inside), bound, unit_weights, unit_loads);
  int64_t filled = 0;
  for (int64_t i = 0; i < sub.n; ++i) {
    const int32_t v = inside[i];
    sub.own_start[i] = filled;
    if (!unit_loads) sub.own_load[i] = g.load[v];
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (group[u] != id) continue;
      if (!unit_weights) sub.own_weight[filled] = g.weight[e];
      sub.own_adj[filled++] = members.local(u);
    }
  }
  sub.own_start[sub.n] = filled;
  sub.sum_loads();
  sub.uneven = g.uneven;
  return sub;
}

// Returns the same as if the subgraph had been given on its own, with its costs of single vertices.
template <class W>
Graph<W> subproblem(const Graph<W>& g, const GroupMembers& members, std::span<const int32_t> group,
                    int32_t id) {
  Graph<W> sub = induced(g, members, group, id);
  sub.uneven = weights_uneven(sub);
  if (g.linear_cost) sub.linear_cost = std::make_shared<const LinearCost>(g.linear_cost->of(members.of(id)));
  return sub;
}

// Returns a view of a graph with vertices fixed to blocks that are not negative; without blocks none is.
template <class W>
std::unique_ptr<Graph<W>> with_fixed(const Graph<W>& g, const std::vector<int32_t>& block) {
  auto view = std::make_unique<Graph<W>>();
  static_cast<GraphShape&>(*view) = g;
  view->weight = g.weight;
  view->linear_cost = block.empty() ? nullptr : std::make_shared<const LinearCost>(LinearCost::fixed(block));
  return view;
}

// Returns the blocks of all vertices where every group is partitioned on its own, into the blocks first[j] to
// first[j + 1] - 1. partition(j, subgraph, control, block) writes the blocks of a group, numbered from 0. The
// groups are partitioned side by side.
template <class W, class Work>
std::vector<int32_t> partition_apart(const Graph<W>& g, std::span<const int32_t> group,
                                     std::span<const int64_t> first, const Control& control, Work partition) {
  const int64_t count = std::ssize(first) - 1;
  const GroupMembers members(group, count, control.team());
  std::vector<int32_t> block(g.n, 0);
  SideBySide spans(control, count);
  parallel_for(count, control.team(), [&](int64_t j) {
    std::vector<int32_t> inner(members.size(j), 0);
    if (first[j + 1] - first[j] > 1 && !inner.empty())
      partition(j, induced(g, members, group, static_cast<int32_t>(j)), spans.of(j), inner);
    members.number(j, static_cast<int32_t>(first[j]), inner, block);
  });
  return block;
}

}  // namespace hopbytes
