// The levels at which a machine is divided: groups of PEs into smaller groups, down to single PEs.
#pragma once
#include "graph/csr.hpp"
#include "graph/selected_distance.hpp"

namespace hopbytes {

// One level: every group of PEs is divided into its children, which are the groups of the next level.
struct MachineLevel {
  std::vector<int64_t> first_child;  // of each group, and the number of children
  std::vector<int32_t> child_of_pe;
  std::vector<int64_t> share;       // of each child: the capacity of its PEs,
  std::vector<int64_t> leaf_bound;  // the sum of their maximum loads,
  std::vector<int64_t> sure_bound;  // and a load that fits them whatever vertices it consists of
  int32_t levels_left = 1;          // down to single PEs, with this one
  SelectedDistance distance;        // between children: that of their first PEs

  int64_t groups() const { return std::ssize(first_child) - 1; }
  int64_t children() const { return std::ssize(share); }

  // Returns the maximum load of each child of groups that have these loads, if the PEs of the children can
  // hold the sums `leaf_bound`. Every later division and every PE can then keep its own bound: what the PEs
  // of a group can hold beyond its load is shared evenly, as a factor, among the levels that are left
  // (Schulz, Woydt 2025, "SharedMap"). No bound is below a fair share.
  std::vector<int64_t> max_loads(std::span<const int64_t> group_loads, In<int64_t> leaf_bound) const;
};

struct Machine {
  In<int32_t> groups;  // row after row, the outermost level first: the group of each PE
  In<int64_t> capacity, max_load;  // of each PE
  int64_t heaviest = 1;  // the largest load of a vertex
  int64_t most_children = 8;  // a group of more children is divided into bundles of them first
  const AnyDistance& distance;
};

// The last level has a child for every PE.
std::vector<MachineLevel> levels_of(const Machine& machine);

}  // namespace hopbytes
