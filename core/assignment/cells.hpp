// Slots, cells and neighbourhoods: which tasks a PE holds, and which PEs are worth trying for a task.
#pragma once
#include "graph/csr.hpp"
#include "assignment/nearest_pes.hpp"
#include "util/assert.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// A range of PEs.
struct PeRange {
  int32_t first, last;  // last excluded
};

// Divides the PEs of a tree into cells. The PEs of one cell are at the same distance from every other PE: a
// cell is an innermost unit of the machine, or a single PE where a PE holds several tasks. For every cell the
// class also knows the units around it with up to `reach` PEs.
class TreeCells {
 public:
  TreeCells(const TreeDistance& tree, int64_t k, int64_t farthest_alike, int64_t reach, const Control&)
      : tree_(tree), cell_(k), reach_(reach) {
    std::vector<int64_t> widths;  // The widths at which a unit ends, because the distance grows there.
    for (int64_t width = 0; width <= 64; ++width)
      if (width == 64 || tree.bit_cost[width + 1] > std::max(tree.bit_cost[width], farthest_alike))
        widths.push_back(width);
    for (const int64_t width : widths) {
      std::vector<PeRange> units;
      int64_t largest = 0;
      for (int32_t p = 0; p < k; ++p) {
        if (p == 0 || tree.width(p, p - 1) > width) units.push_back({p, p});
        units.back().last = p + 1;
        largest = std::max<int64_t>(largest, p + 1 - units.back().first);
      }

      Level level{width, std::vector<PeRange>(k)};
      for (const PeRange unit : units)
        std::fill(level.unit.begin() + unit.first, level.unit.begin() + unit.last, unit);
      if (levels_.empty())
        for (size_t c = 0; c < units.size(); ++c)
          std::fill(cell_.begin() + units[c].first, cell_.begin() + units[c].last, static_cast<int32_t>(c));
      levels_.push_back(std::move(level));
      if (units.size() == 1) break;
    }
    count_ = k ? cell_.back() + 1 : 0;
  }

  int64_t count() const { return count_; }
  int64_t pes() const { return static_cast<int64_t>(cell_.size()); }
  int32_t cell_of(int32_t pe) const { return cell_[pe]; }
  PeRange cell_range(int32_t pe) const { return levels_[0].unit[pe]; }

  // From the cells to the whole machine. PEs of one unit, but not of one unit of the level before, have this
  // cost.
  int64_t levels() const { return static_cast<int64_t>(levels_.size()); }
  PeRange unit(int64_t level, int32_t pe) const { return levels_[level].unit[pe]; }
  int64_t cost(int64_t level) const { return tree_.bit_cost[levels_[level].width]; }

  // Calls visit(first PE of a cell) for every cell near `there` that may be worth a try for a task on `here`:
  // the cells of the largest unit of at most `reach` PEs that holds `there` and does not hold `here`.
  template <class Visit> void around(int32_t here, int32_t there, Visit visit) const {
    const int64_t apart = std::bit_width(tree_.label[here] ^ tree_.label[there]);
    if (apart <= levels_[0].width) return;
    size_t level = 0;
    while (level + 1 < levels_.size() && levels_[level + 1].width < apart &&
           levels_[level + 1].unit[there].last - levels_[level + 1].unit[there].first <= reach_)
      ++level;
    const PeRange unit = levels_[level].unit[there];
    for (int32_t p = unit.first; p < unit.last; p = levels_[0].unit[p].last) visit(p);
  }

  // Draws a unit that holds `there` but not `here`, of any level alike. It is empty if there is none.
  PeRange random_unit(int32_t here, int32_t there, Rng& rng) const {
    const int64_t apart = std::bit_width(tree_.label[here] ^ tree_.label[there]);
    size_t below = 0;
    while (below < levels_.size() && levels_[below].width < apart) ++below;
    return below ? levels_[rng.below(below)].unit[there] : PeRange{0, 0};
  }

 private:
  struct Level {
    int64_t width;
    std::vector<PeRange> unit;  // the unit of every PE
  };
  const TreeDistance tree_;
  std::vector<Level> levels_;
  std::vector<int32_t> cell_;
  int64_t reach_;
  int64_t count_ = 0;
};

// PEs under any distance; each PE is a cell of its own. The cells around a PE are the nearest ones. If the
// control stops the construction, the cells around the remaining PEs are arbitrary.
template <class Distance> class NearCells {
 public:
  NearCells(const Distance& distance, int64_t k, int64_t, int64_t reach, const Control& control)
      : k_(k), near_(std::min(k, reach)), nearest_(nearest_pes(distance, k, near_, control)) {}

  // The nearest PEs, beginning with the PE itself.
  In<int32_t> nearest(int32_t pe) const { return {nearest_.data() + pe * near_, static_cast<size_t>(near_)}; }
  int64_t count() const { return k_; }
  int64_t pes() const { return k_; }
  int32_t cell_of(int32_t pe) const { return pe; }
  PeRange cell_range(int32_t pe) const { return {pe, pe + 1}; }
  template <class Visit> void around(int32_t here, int32_t there, Visit visit) const {
    for (int64_t i = 0; i < near_; ++i)
      if (nearest_[there * near_ + i] != here) visit(nearest_[there * near_ + i]);
  }
  PeRange random_unit(int32_t, int32_t there, Rng& rng) const {
    const int32_t p = nearest_[there * near_ + static_cast<int64_t>(rng.below(near_))];
    return {p, p + 1};
  }

 private:
  int64_t k_, near_;
  std::vector<int32_t> nearest_;
};

template <class Distance>
using CellsOf = std::conditional_t<std::is_same_v<Distance, TreeDistance>, TreeCells, NearCells<Distance>>;

// The tasks of every PE. The slots of a PE are adjacent in memory.
class Slots {
 public:
  Slots(In<int32_t> pe, int64_t k) : start_(k + 1), task_(pe.size()), slot_(pe.size()) {
    const auto put = [&](int64_t v, int64_t slot) {
      slot_[v] = static_cast<int32_t>(slot);
      task_[slot] = static_cast<int32_t>(v);
    };
    order_by_bucket(std::ssize(pe), k, Team::alone(), [&](int64_t v) { return pe[v]; }, start_, put);
  }
  In<int32_t> tasks(PeRange range) const {
    return {task_.data() + start_[range.first],
            static_cast<size_t>(start_[range.last] - start_[range.first])};
  }
  int64_t size(PeRange range) const { return start_[range.last] - start_[range.first]; }
  int32_t task(int64_t slot) const { return task_[slot]; }
  int32_t slot(int32_t task) const { return slot_[task]; }
  void swap(int32_t u, int32_t v) {
    std::swap(task_[slot_[u]], task_[slot_[v]]);
    std::swap(slot_[u], slot_[v]);
    HOPBYTES_CHECK(task_[slot_[u]] == u && task_[slot_[v]] == v);
  }

 private:
  std::vector<int64_t> start_;
  std::vector<int32_t> task_, slot_;
};

// Returns lower bounds: the i-th entry is at most the distance from any task to its i-th nearest other task,
// for i = 0, 1, ... and at most `count` entries. They are 0 if the control stops the computation.
inline std::vector<int64_t> nearest_costs(const TreeDistance& tree, const TreeCells&, int64_t k,
                                          const Slots& slots, int64_t count, const Control&) {
  std::vector<int64_t> costs;
  for (int64_t width = 0; width <= 64 && static_cast<int64_t>(costs.size()) < count; ++width) {
    int64_t largest = 0, held = 0;
    for (int32_t p = 0; p < k; ++p) {
      if (p > 0 && tree.width(p, p - 1) > width) held = 0;
      largest = std::max(largest, held += slots.size({p, p + 1}));
    }
    costs.resize(std::max<int64_t>(costs.size(), std::min(count, largest - 1)), tree.bit_cost[width]);
    if (largest == slots.size({0, static_cast<int32_t>(k)})) break;
  }
  return costs;
}
template <class Distance>
std::vector<int64_t> nearest_costs(const Distance& distance, const NearCells<Distance>& cells, int64_t k,
                                   const Slots& slots, int64_t count, const Control& control) {
  count = std::min(count, slots.size({0, static_cast<int32_t>(k)}) - 1);
  std::vector<int64_t> costs(std::max<int64_t>(0, count), INT64_MAX), row;
  const auto all = numbers_below<int32_t>(k <= most_scanned ? k : 0);
  int64_t compared = 0;
  for (int32_t p = 0; p < k && count > 0; ++p) {
    if (!slots.size({p, p + 1})) continue;
    if (control.should_stop()) {
      std::fill(costs.begin(), costs.end(), 0);
      break;
    }
    // The nearest PEs are enough if they hold as many tasks; those of the PE itself need not be nearest.
    In<int32_t> near = cells.nearest(p);
    int64_t held = 0, farthest = INT64_MAX;
    for (const int32_t q : near) held += q == p ? 0 : slots.size({q, q + 1});
    if (held < count && !all.empty()) near = all;
    // On large machines all further tasks are taken to be no farther than the last of the nearest PEs.
    if (held < count && all.empty()) farthest = near.size() > 1 ? distance(p, near.back()) : 0;
    compared += static_cast<int64_t>(near.size());
    row.clear();
    for (const int32_t q : near)
      row.insert(row.end(), std::min(count + 1, slots.size({q, q + 1}) - (p == q)), distance(p, q));
    const int64_t known = std::min(count, static_cast<int64_t>(row.size()));
    std::partial_sort(row.begin(), row.begin() + known, row.end());
    row.resize(std::max<int64_t>(row.size(), count), farthest);
    for (int64_t i = 0; i < count; ++i) costs[i] = std::min({costs[i], row[i], farthest});
  }
  control.record_work(compared);
  return costs;
}

}  // namespace hopbytes
