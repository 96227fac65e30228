#include "partition/machine_levels.hpp"

namespace hopbytes {

namespace {

// Returns the n-th root of x >= 1 by Newton's method, the same on every processor.
double root(double x, int32_t n) {
  double found = x;
  for (double next = 1 + (x - 1) / n; next < found;) {
    found = next;
    double power = 1;
    for (int32_t i = 1; i < n; ++i) power *= found;
    next = ((n - 1) * found + x / power) / n;
  }
  return found;
}

int64_t power_of(int64_t base, int32_t exponent) {
  int64_t power = 1;
  for (int32_t i = 0; i < exponent; ++i) power *= base;
  return power;
}

int64_t rounded_up(int64_t load, int64_t share, int64_t whole) {
  return static_cast<int64_t>((static_cast<__int128>(load) * share + whole - 1) / whole);
}

// Returns the numbers of the distinct pairs (parent[i], group[i]), ascending.
std::vector<int32_t> numbered(std::span<const int32_t> parent, std::span<const int32_t> group) {
  auto order = numbers_below<int32_t>(std::ssize(parent));
  std::vector<int32_t> number(parent.size());
  const auto key = [&](int32_t i) { return std::pair(parent[i], group[i]); };
  std::stable_sort(order.begin(), order.end(), [&](int32_t i, int32_t j) { return key(i) < key(j); });
  int32_t next = 0;
  for (size_t i = 0; i < order.size(); ++i)
    number[order[i]] = i > 0 && key(order[i]) != key(order[i - 1]) ? ++next : next;
  return number;
}

// Divides groups of many children into bundles of consecutive ones, as long as there are too many for one
// cut. Appends the bundle of each PE, the outermost first.
void append_bundles(std::span<const int32_t> parent, std::span<const int32_t> child, int64_t most,
                    std::vector<std::vector<int32_t>>& rows) {
  const int32_t groups = *std::max_element(parent.begin(), parent.end()) + 1;
  const int32_t children = *std::max_element(child.begin(), child.end()) + 1;
  std::vector<int32_t> first(groups, children), count(groups, 0), parent_of(children);
  for (size_t pe = 0; pe < parent.size(); ++pe) parent_of[child[pe]] = parent[pe];
  for (int32_t c = children; c-- > 0;) first[parent_of[c]] = c, ++count[parent_of[c]];
  const int64_t largest = *std::max_element(count.begin(), count.end());
  int32_t cuts = 1;
  while (power_of(most, cuts) < largest) ++cuts;
  for (int32_t cut = 1; cut < cuts; ++cut) {
    std::vector<int32_t> bundle(parent.size());
    for (size_t pe = 0; pe < parent.size(); ++pe) {
      const int64_t own = count[parent[pe]];
      int64_t each = 1;
      while (power_of(each, cuts) < own) ++each;
      const int64_t place = child[pe] - first[parent[pe]];
      bundle[pe] = static_cast<int32_t>(place * std::min(own, power_of(each, cut)) / own);
    }
    rows.push_back(std::move(bundle));
  }
}

MachineLevel level_of(const Machine& machine, std::span<const int32_t> parent, std::vector<int32_t> child) {
  const int32_t children = *std::max_element(child.begin(), child.end()) + 1;
  std::vector<int64_t> share(children, 0), bound(children, 0), pes(children, 0);
  std::vector<int32_t> representative(children, -1);
  std::vector<int64_t> first_child(*std::max_element(parent.begin(), parent.end()) + 2, children);
  for (size_t pe = 0; pe < child.size(); ++pe) {
    const int32_t c = child[pe];
    if (representative[c] < 0) representative[c] = static_cast<int32_t>(pe);
    share[c] += machine.capacity[pe];
    bound[c] += machine.max_load[pe];
    ++pes[c];
    first_child[parent[pe]] = std::min<int64_t>(first_child[parent[pe]], c);
  }
  std::vector<int64_t> sure(children);
  for (int32_t c = 0; c < children; ++c)
    sure[c] = std::max<int64_t>(0, bound[c] - (pes[c] - 1) * (machine.heaviest - 1));
  return {std::move(first_child),
          std::move(child),
          std::move(share),
          std::move(bound),
          std::move(sure),
          1,
          SelectedDistance(machine.distance, representative)};
}

}  // namespace

std::vector<int64_t> MachineLevel::max_loads(std::span<const int64_t> group_loads,
                                             In<int64_t> leaf_bound) const {
  std::vector<int64_t> most(children());
  for (int64_t g = 0; g < groups(); ++g) {
    const int64_t begin = first_child[g], end = first_child[g + 1], load = group_loads[g];
    const int64_t whole = std::accumulate(share.begin() + begin, share.begin() + end, int64_t{0});
    const int64_t room = std::accumulate(leaf_bound.begin() + begin, leaf_bound.begin() + end, int64_t{0});
    const double factor =
        load == 0 ? 1
                  : root(std::max(1.0, static_cast<double>(room) / static_cast<double>(load)), levels_left);
    for (int64_t c = begin; c < end; ++c) {
      const int64_t even = rounded_up(load, share[c], whole);
      const double generous =
          factor * (static_cast<double>(load) * (static_cast<double>(share[c]) / static_cast<double>(whole)));
      const int64_t below =
          generous < static_cast<double>(leaf_bound[c]) ? static_cast<int64_t>(generous) : leaf_bound[c];
      most[c] = load == 0 ? leaf_bound[c] : std::max({even, below, sure_bound[c]});
    }
  }
  return most;
}

std::vector<MachineLevel> levels_of(const Machine& machine) {
  const size_t k = machine.max_load.size();
  std::vector<MachineLevel> levels;
  std::vector<int32_t> parent(k, 0);
  for (size_t row = 0; row < machine.groups.size(); row += k) {
    const std::vector<int32_t> child = numbered(parent, machine.groups.subspan(row, k));
    std::vector<std::vector<int32_t>> steps;
    append_bundles(parent, child, machine.most_children, steps);
    steps.push_back(child);
    for (const std::vector<int32_t>& step : steps) {
      levels.push_back(level_of(machine, parent, numbered(parent, step)));
      parent = levels.back().child_of_pe;
    }
  }
  for (size_t i = 0; i < levels.size(); ++i) levels[i].levels_left = static_cast<int32_t>(levels.size() - i);
  return levels;
}

}  // namespace hopbytes
