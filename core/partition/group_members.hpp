// Groups of vertices and the subgraphs that they induce.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace hopbytes {

// The vertices of every group in ascending order, by counting sort. O(n + groups).
class GroupMembers {
 public:
  GroupMembers(std::span<const int32_t> group, int64_t groups)
      : start_(groups + 1, 0), members_(group.size()), local_(group.size()) {
    for (int32_t g : group) ++start_[g + 1];
    for (int64_t i = 0; i < groups; ++i) start_[i + 1] += start_[i];
    std::vector<int64_t> next(start_.begin(), start_.end() - 1);
    for (size_t v = 0; v < group.size(); ++v) {
      local_[v] = static_cast<int32_t>(next[group[v]] - start_[group[v]]);
      members_[next[group[v]]++] = static_cast<int32_t>(v);
    }
  }

  std::span<const int32_t> of(int64_t g) const {
    return {members_.data() + start_[g], static_cast<size_t>(start_[g + 1] - start_[g])};
  }
  // The position of every vertex among the members of its group.
  const int32_t* local() const { return local_.data(); }

 private:
  std::vector<int64_t> start_;
  std::vector<int32_t> members_, local_;
};

// Returns the subgraph induced by a group; group[v] is the group of v. O(arcs of the members).
template <class W>
Graph<W> induced(const Graph<W>& g, const GroupMembers& members, std::span<const int32_t> group, int32_t id) {
  return induced(g, members.of(id), group.data(), id, members.local());
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

}  // namespace hopbytes
