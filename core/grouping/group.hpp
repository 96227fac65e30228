// The grouping of TreeMatch (Jeannot and Mercier, Euro-Par 2010): divides p objects into p / arity groups so
// that little weight remains between groups. Small cases list all possible groups and search for independent
// sets in their conflict graph; the smallest cases are also solved exactly. Large cases grow groups along
// heavy edges. Deterministic: ties go to the smaller number.
#pragma once
#include <cstdint>
#include <vector>

#include "grouping/exact_groups.hpp"
#include "grouping/grown_groups.hpp"
#include "grouping/listed_groups.hpp"

namespace hopbytes {

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
