// Gain cache by ancestors: for every task of high degree the weight of its arcs into each unit of a tree,
// kept up to date under exchanges. The cost of such a task on any PE follows from one number per level.
#pragma once
#include "assignment/cells.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

template <class W> class UnitWeights {
 public:
  UnitWeights() = default;

  // No row of any task: costs have to be computed from arcs.
  bool empty() const { return entry_.empty(); }
  void clear() { entry_.clear(), start_.clear(); }
  bool has_row(int32_t v) const { return !entry_.empty() && start_[v + 1] > start_[v]; }

  // Makes the rows for a mapping. PEs of one cell have the distance `least`.
  void build(const Graph<W>& g, const TreeCells& cells, int64_t least, In<int32_t> pe) {
    number_units(cells, least);
    if (levels_ == 0) return;
    start_.assign(g.n + 1, 0);
    int64_t entries = 0;
    for (int64_t least_degree = kLeastDegree; entries == 0 || entries > kMostEntries; least_degree *= 2) {
      entries = 0;
      bool any = false;
      for (int64_t v = 0; v < g.n; ++v) {
        start_[v] = entries;
        if (g.degree(v) >= least_degree) entries += capacity(g.degree(v)), any = true;
      }
      start_[g.n] = entries;
      if (!any) return;
    }
    entry_.assign(entries, {});
    total_.assign(g.n, 0);
    for (int32_t v = 0; v < g.n; ++v) {
      if (!has_row(v)) continue;
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
        total_[v] += g.weight[e];
        for (int64_t l = 0; l < levels_; ++l) shift(v, unit_[pe[g.adj[e]] * levels_ + l], g.weight[e]);
      }
    }
  }

  // Returns the cost of a task with a row on a PE, or a bound not below `limit`; counts the levels read.
  int64_t cost_at(int32_t v, int32_t pe, int64_t limit, int64_t& read) const {
    int64_t cost = cost_[levels_] * total_[v];
    for (int64_t l = levels_; l-- > 0;) {
      ++read;
      const int64_t weight = find(v, unit_[pe * levels_ + l]);
      if (weight == 0) break;
      cost -= (cost_[l + 1] - cost_[l]) * weight;
      if (const int64_t bound = cost - (cost_[l] - cost_[0]) * weight; bound >= limit) return bound;
    }
    return cost;
  }

  // Follows a task from one PE to another one. Returns the number of rows that changed, times levels.
  int64_t follow(const Graph<W>& g, int32_t u, int32_t from, int32_t to) {
    const int32_t *leave = unit_.data() + from * levels_, *enter = unit_.data() + to * levels_;
    int64_t levels = 0, changed = 0;
    while (levels < levels_ && leave[levels] != enter[levels]) ++levels;
    for (int64_t e = g.start[u]; e < g.start[u + 1]; ++e) {
      const int32_t v = g.adj[e];
      if (!has_row(v)) continue;
      for (int64_t l = 0; l < levels; ++l) {
        shift(v, leave[l], -int64_t{g.weight[e]});
        shift(v, enter[l], g.weight[e]);
      }
      changed += levels;
    }
    return changed;
  }

 private:
  // Costs of tasks with fewer neighbours are computed from their arcs in less time.
  static constexpr int64_t kLeastDegree = 24;
  // With more entries fewer tasks have rows.
  static constexpr int64_t kMostEntries = int64_t{1} << 23;

  struct Entry {
    int32_t unit = -1;  // -1 if there is no entry here
    int64_t weight = 0;
  };

  void number_units(const TreeCells& cells, int64_t least) {
    levels_ = cells.levels() - 1;  // without the whole machine
    const int64_t k = cells.pes();
    cost_.assign(1, least);
    for (int64_t l = 1; l <= levels_; ++l) cost_.push_back(cells.cost(l));
    unit_.resize(k * levels_);
    level_units_.assign(levels_, 0);
    units_ = 0;
    for (int64_t l = 0; l < levels_; ++l) {
      for (int32_t p = 0; p < k; ++p) {
        level_units_[l] += cells.unit(l, p).first == p;
        unit_[p * levels_ + l] = static_cast<int32_t>(units_ + level_units_[l] - 1);
      }
      units_ += level_units_[l];
    }
  }

  // A row is a hash table at most half full, or has an entry for every unit if that is no larger.
  int64_t capacity(int64_t degree) const {
    int64_t most = 0;
    for (const int64_t units : level_units_) most += std::min(degree, units);
    return std::min(units_, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * most))));
  }

  static size_t home(int32_t unit, size_t mask) {
    return (static_cast<uint32_t>(unit) * 0x9e3779b1u >> 9) & mask;
  }

  // Where a hash table has the entry of a unit, or the free one where it belongs.
  static size_t place(const Entry* row, int32_t unit, size_t mask) {
    size_t at = home(unit, mask);
    while (row[at].unit != unit && row[at].unit >= 0) at = (at + 1) & mask;
    return at;
  }

  int64_t find(int32_t v, int32_t unit) const {
    const Entry* row = entry_.data() + start_[v];
    const int64_t capacity = start_[v + 1] - start_[v];
    return row[capacity == units_ ? unit : place(row, unit, capacity - 1)].weight;
  }

  void shift(int32_t v, int32_t unit, int64_t by) {
    Entry* row = entry_.data() + start_[v];
    const int64_t capacity = start_[v + 1] - start_[v];
    if (capacity == units_) {
      row[unit].weight += by;
      return;
    }
    const size_t at = place(row, unit, capacity - 1);
    row[at] = {unit, row[at].weight + by};
    if (row[at].weight == 0) erase(row, at, capacity - 1);
  }

  // Closes the gap, so that a search for an entry never has to pass one that was erased.
  static void erase(Entry* row, size_t gap, size_t mask) {
    for (size_t at = (gap + 1) & mask; row[at].unit >= 0; at = (at + 1) & mask)
      if (((at - home(row[at].unit, mask)) & mask) >= ((at - gap) & mask)) row[gap] = row[at], gap = at;
    row[gap] = {};
  }

  int64_t levels_ = 0, units_ = 0;
  std::vector<int64_t> cost_;  // of an arc inside a unit of each level and in no smaller one
  std::vector<int64_t> level_units_;  // number of units of each level
  std::vector<int32_t> unit_;  // of every PE on each level, numbered through all levels
  std::vector<int64_t> start_, total_;  // of the rows; weight of all arcs
  std::vector<Entry> entry_;
};

}  // namespace hopbytes
