// The grouping of TreeMatch (Jeannot and Mercier, Euro-Par 2010): divides p objects into p / arity groups so
// that little weight remains between groups. Small cases list all possible groups and search for independent
// sets in their conflict graph; the smallest cases are also solved exactly. Large cases grow groups along
// heavy edges. Deterministic: ties go to the smaller number.
#pragma once
#include <bit>

#include "grouping/grown_groups.hpp"
#include "grouping/listed_groups.hpp"

namespace hopbytes {

// Optimal grouping of at most a dozen objects: finds the groups with the largest weight inside. Dynamic
// programming over the sets of objects that are still free: the first free object is combined with
// all possible partners. O(3^p) steps and 2^p numbers.
class ExactGroups {
 public:
  static constexpr int64_t kMost = 12;

  ExactGroups(const Csr& graph, int64_t arity, BestGrouping& best)
      : p_(static_cast<int>(graph.n())),
        arity_(static_cast<int>(arity)),
        best_(best),
        inside_(size_t{1} << p_, 0),
        kept_(inside_.size(), 0),
        chosen_(inside_.size(), 0) {
    for (uint32_t set = 1; set < inside_.size(); ++set) {
      const int first = std::countr_zero(set);
      inside_[set] = inside_[set & (set - 1)];
      for (int64_t e = graph.indptr[first]; e < graph.indptr[first + 1]; ++e)
        if (set >> graph.target[e] & 1 && graph.target[e] != first)
          inside_[set] += static_cast<uint64_t>(graph.w(e));
    }
  }

  void try_it() {
    for (uint32_t free = 1; free < kept_.size(); ++free)
      if (std::popcount(free) % arity_ == 0) choose_for_first(free);
    int32_t number = 0;
    for (uint32_t free = static_cast<uint32_t>(kept_.size()) - 1; free; free ^= chosen_[free], ++number)
      for (int v = 0; v < p_; ++v)
        if (chosen_[free] >> v & 1) best_.trial()[v] = number;
    best_.offer(Grouping::exact);
  }

 private:
  // Ties go to the group with the smallest number, read as a bit set.
  void choose_for_first(uint32_t free) {
    const uint32_t first = free & -free, rest = free ^ first;
    uint32_t others = 0;
    do {
      others = (others - rest) & rest;  // the next subset, in ascending order
      if (std::popcount(others) != arity_ - 1) continue;
      const uint32_t group = first | others;
      const uint64_t kept = inside_[group] + kept_[free ^ group];
      if (chosen_[free] == 0 || kept > kept_[free]) kept_[free] = kept, chosen_[free] = group;
    } while (others != rest);
  }

  int p_, arity_;
  BestGrouping& best_;
  // weight inside a set as one group, and inside the best groups of a set
  std::vector<uint64_t> inside_, kept_;
  std::vector<uint32_t> chosen_;  // the group of the first object of a set
};

// Computes groups of `arity` objects, numbered by their smallest members. All weights are positive and arity
// divides p. Lists all possible groups if there are at most `list_up_to`. `credit` is in thousandths, see
// BestGrouping. The answer is the same for any number of threads.
inline Grouping group_objects(const Csr& graph, int64_t arity, int64_t list_up_to, int64_t credit,
                              Out<int32_t> group, Team& team) {
  BestGrouping best(graph, arity, credit, group);
  if (arity == 1 || arity >= graph.n()) return Grouping::packed;
  if (choose(graph.n(), arity, list_up_to) <= list_up_to) {
    ListedGroups(graph, arity, best, team).try_all();
    if (graph.n() <= ExactGroups::kMost) ExactGroups(graph, arity, best).try_it();
  } else {
    GrownGroups(graph, arity, best).try_all();
  }
  std::vector<int32_t> number(graph.n() / arity, -1);
  int32_t next = 0;
  for (int32_t& each : group) {
    if (number[each] < 0) number[each] = next++;
    each = number[each];
  }
  return best.which();
}

}  // namespace hopbytes
