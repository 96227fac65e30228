// The largest load of each block, as Python computes it (hopbytes/model/capacities.py), and moves of vertices
// after a search until no block exceeds its bound and none is empty (hopbytes/algorithms/balancer.py).
#pragma once
#include <cmath>

#include "feasibility/list_schedule.hpp"
#include "feasibility/repair.hpp"
#include "library/tree_machine.hpp"

namespace hopbytes {

// What blocks may hold beyond their share of the load, in parts of 10^9.
class Imbalance {
 public:
  explicit Imbalance(double imbalance) : whole_(kParts + std::llround(imbalance * kParts)) {}

  // Whether a load exceeds (1 + imbalance) total size / free.
  bool exceeded(int64_t load, int64_t total, int64_t size, int64_t free) const {
    return static_cast<__int128>(load) * free > share(total, size) / kParts;
  }

  // Returns (1 + imbalance) total size / free rounded down, but not less than total size / free rounded up.
  int64_t bound(int64_t total, int64_t size, int64_t free) const {
    const __int128 even = (static_cast<__int128>(total) * size + free - 1) / free;
    const __int128 roomy = share(total, size) / (static_cast<__int128>(free) * kParts);
    return static_cast<int64_t>(std::min<__int128>(std::max(roomy, even), std::max<int64_t>(total, 1)));
  }

 private:
  static constexpr int64_t kParts = 1'000'000'000;
  __int128 share(int64_t total, int64_t size) const { return static_cast<__int128>(whole_) * total * size; }

  int64_t whole_;  // below 2^33, with loads up to 2^62 and sizes up to 2^31 there is no overflow
};

struct LoadBounds {
  std::vector<int64_t> load;  // in multiples of their greatest common divisor; empty: 1 each
  std::vector<int64_t> most;  // of each block
};

// Vertices that are heavier than the largest share take a block each, and their loads are reduced to it.
inline LoadBounds load_bounds(std::vector<int64_t> load, int64_t n, In<int64_t> capacity,
                              Imbalance imbalance) {
  std::vector<int64_t> sizes(capacity.begin(), capacity.end());
  int64_t free = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), total = n, heavy = 0;
  int64_t unit = 0;
  for (size_t v = 0; v < load.size() && unit != 1; ++v) unit = std::gcd(unit, load[v]);
  for (int64_t& each : load) each = unit > 0 ? each / unit : 1;  // without any load all count alike
  if (std::all_of(load.begin(), load.end(), [](int64_t each) { return each == 1; })) load.clear();
  if (!load.empty()) {
    total = std::accumulate(load.begin(), load.end(), int64_t{0});
    std::vector<int64_t> heaviest(std::min(load.size(), sizes.size()));
    std::partial_sort_copy(load.begin(), load.end(), heaviest.begin(), heaviest.end(), std::greater<>());
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    const int64_t most = std::min<int64_t>(std::ssize(sizes) - 1, n);
    for (; heavy < most && imbalance.exceeded(heaviest[heavy], total, sizes[heavy], free); ++heavy)
      total -= heaviest[heavy], free -= sizes[heavy];
  }
  LoadBounds bounds;
  const int64_t ceiling = std::numeric_limits<int64_t>::max() / std::ssize(capacity);  // so that sums fit
  for (const int64_t size : capacity)
    bounds.most.push_back(std::clamp<int64_t>(imbalance.bound(total, size, free), 1, ceiling));
  const int64_t largest = *std::max_element(bounds.most.begin(), bounds.most.end());
  for (int64_t& each : load) each = heavy > 0 ? std::min(each, largest) : each;
  bounds.load = std::move(load);
  return bounds;
}

class BoundKeeper {
 public:
  // `fixed` is null if no vertex is.
  BoundKeeper(const Csr& graph, const TreeMachine& machine, const LoadBounds& bounds, const LinearCost* fixed)
      : graph_(graph), machine_(machine), load_(bounds.load), most_(bounds.most), fixed_(fixed) {}

  // Returns the largest load of a block beyond its bound, 0 if there is none.
  int64_t overload(const std::vector<int32_t>& part) const {
    const std::vector<int64_t> left = room(part);
    return std::max<int64_t>(0, -*std::min_element(left.begin(), left.end()));
  }

  void meet_bounds(std::vector<int32_t>& part) const {
    int64_t over = overload(part);
    if (over == 0) return;
    repair(load_, part, most_).enforce_capacities();
    over = overload(part);
    if (load_.empty()) return;
    std::vector<int32_t> anew, best = part;
    const std::vector<int64_t> left = room(part);
    const auto full = std::count_if(left.begin(), left.end(), [](int64_t each) { return each < 0; });
    // The vertices of the overloaded blocks and of more and more others are assigned anew.
    for (int64_t helpers = full; over > 0; helpers *= 2) {
      const bool all = reschedule(part, left, full, helpers, anew);
      repair(load_, anew, most_).enforce_capacities();
      if (const int64_t found = overload(anew); found < over) {
        over = found;
        best = anew;
      }
      if (all) break;
    }
    part = std::move(best);
  }

  // For graphs of at least as many vertices as blocks.
  void fill_empty(std::vector<int32_t>& part) const {
    const std::vector<int64_t> ones(most_.size(), 1);
    std::vector<int64_t> count = counts(part);
    if (*std::min_element(count.begin(), count.end()) > 0) return;
    const std::vector<int32_t> before = part;
    repair({}, part, ones).fill_empty();
    if (!load_.empty()) take_lighter(before, part);
  }

 private:
  Repair repair(In<int64_t> load, std::vector<int32_t>& part, In<int64_t> most) const {
    const NearestInTree nearest(machine_.labels(), machine_.bit_costs());
    return Repair(graph_, load, part, most, machine_.distance(), nearest, Control(), fixed_);
  }
  int64_t load(int64_t v) const { return load_.empty() ? 1 : load_[v]; }
  bool is_fixed(int64_t v) const { return fixed_ && fixed_->kind[v] != 0; }

  std::vector<int64_t> counts(const std::vector<int32_t>& part) const {
    std::vector<int64_t> count(most_.size(), 0);
    for (const int32_t block : part) ++count[block];
    return count;
  }
  std::vector<int64_t> room(const std::vector<int32_t>& part) const {
    std::vector<int64_t> left = most_;
    for (size_t v = 0; v < part.size(); ++v) left[part[v]] -= load(static_cast<int64_t>(v));
    return left;
  }

  // Has the `full` blocks without room and those with most room share their vertices anew; returns whether
  // all do.
  bool reschedule(const std::vector<int32_t>& part, const std::vector<int64_t>& left, int64_t full,
                  int64_t helpers, std::vector<int32_t>& anew) const {
    const auto k = std::ssize(left);
    auto fullest = numbers_below<int32_t>(k);
    std::stable_sort(fullest.begin(), fullest.end(), [&](int32_t a, int32_t b) { return left[a] < left[b]; });
    helpers = std::min(helpers, k - full);
    std::vector<int32_t> chosen(fullest.begin(), fullest.begin() + full);
    chosen.insert(chosen.end(), fullest.end() - helpers, fullest.end());
    std::sort(chosen.begin(), chosen.end());
    std::vector<int32_t> vertices, local;
    std::vector<int64_t> loads, bounds;
    for (const int32_t block : chosen) bounds.push_back(most_[block]);
    for (size_t v = 0; v < part.size(); ++v) {
      const auto block = std::lower_bound(chosen.begin(), chosen.end(), part[v]);
      if (load_[v] == 0 || block == chosen.end() || *block != part[v]) continue;
      if (is_fixed(static_cast<int64_t>(v))) {
        bounds[block - chosen.begin()] -= load_[v];
      } else {
        vertices.push_back(static_cast<int32_t>(v));
        loads.push_back(load_[v]);
      }
    }
    for (int64_t& bound : bounds) bound = std::max<int64_t>(bound, 1);
    local.resize(vertices.size());
    list_schedule(loads, bounds, local);
    anew = part;
    for (size_t i = 0; i < vertices.size(); ++i) anew[vertices[i]] = chosen[local[i]];
    return std::ssize(chosen) == k;
  }

  // Vertices that are too heavy for a block that was empty return, and the lightest ones take their places.
  void take_lighter(const std::vector<int32_t>& before, std::vector<int32_t>& part) const {
    std::vector<int32_t> heavy;
    for (size_t v = 0; v < part.size(); ++v)
      if (part[v] != before[v] && load_[v] > most_[part[v]]) heavy.push_back(static_cast<int32_t>(v));
    std::stable_sort(heavy.begin(), heavy.end(),
                     [&](int32_t a, int32_t b) { return most_[part[a]] < most_[part[b]]; });
    auto lightest = numbers_below<int32_t>(std::ssize(part));
    std::erase_if(lightest, [&](int32_t v) { return is_fixed(v); });
    std::stable_sort(lightest.begin(), lightest.end(),
                     [&](int32_t a, int32_t b) { return load_[a] < load_[b]; });
    std::vector<int64_t> count = counts(part);
    size_t next = 0;
    for (const int32_t v : heavy) {
      while (next < lightest.size() && count[part[lightest[next]]] < 2) ++next;
      if (next == lightest.size() || load_[lightest[next]] > most_[part[v]]) break;
      const int32_t light = lightest[next++];
      --count[part[light]];
      ++count[before[v]];
      part[light] = part[v];
      part[v] = before[v];
    }
  }

  const Csr graph_;
  const TreeMachine& machine_;
  const std::vector<int64_t>& load_;
  const std::vector<int64_t>& most_;
  const LinearCost* fixed_;
};

}  // namespace hopbytes
