#include "partition/refinement/synchronous_moves.hpp"

#include <algorithm>
#include <limits>

#include "util/parallel.hpp"

namespace hopbytes {

namespace {

constexpr int64_t step = 1024, scan_step = 1 << 14;
constexpr int32_t most_fruitless = 3;
constexpr size_t most_blocks = 32;  // adjacent blocks that a vertex compares, those of the heaviest edges

}  // namespace

// Calls work(worker, v).
template <class W>
template <class Work>
void SynchronousMoves<W>::for_each(const std::vector<int32_t>& vertices, Work work) const {
  parallel_ranges(static_cast<int64_t>(vertices.size()), step, threads_,
                  [&](int32_t worker, int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) work(worker, vertices[i]);
                  });
}

template <class W> int64_t SynchronousMoves<W>::refine(PartitionArrays<W> partition, const Control& control) {
  const Graph<W>& g = partition.graph;
  target_.resize(std::max<size_t>(target_.size(), g.n), -1);
  gain_.resize(target_.size());
  confirmed_.resize(target_.size());
  is_active_.assign(g.n, 0);
  std::copy(partition.near_boundary.begin(), partition.near_boundary.end(), is_active_.begin());
  locked_.assign(g.n, 0);
  undo_.clear();
  int64_t moves = 0, scanned = g.n, cost = 0, best = 0;
  int32_t fruitless = 0;
  static const int64_t FR = getenv("FR") ? atoi(getenv("FR")) : 3;
  for (int32_t round = 0; round < rounds_ && fruitless < FR && !control.should_stop(); ++round) {
    static const int64_t TOL = getenv("TOL") ? atoi(getenv("TOL")) : 1, PER = getenv("PER") ? atoi(getenv("PER")) : 1;
    tolerance_ = round < PER ? 0 : TOL;
    collect_active(g.n);
    for (const int32_t v : active_) scanned += g.degree(v);
    cost += distance_.in_form([&](const auto& distance) {
      choose(partition, distance);
      confirm(partition, distance);
      keep_to_capacity(partition);
      return change_of_cost(partition, distance);
    });
    if (candidates_.empty()) break;
    moves += static_cast<int64_t>(candidates_.size());
    for (const int32_t v : candidates_) undo_.push_back({v, partition.block[v]});
    apply(partition);
    if (cost < best) best = cost, fruitless = 0, undo_.clear();
    else ++fruitless;
  }
  for (size_t i = undo_.size(); i-- > 0;) {
    const auto [v, block] = undo_[i];
    partition.load[partition.block[v]] -= g.load[v];
    partition.load[block] += g.load[v];
    partition.block[v] = block;
  }
  control.record_work(scanned);
  return moves;
}

// Lists the vertices of is_active_, and clears it.
template <class W> void SynchronousMoves<W>::collect_active(int64_t n) {
  std::vector<int64_t> at((n + scan_step - 1) / scan_step + 1, 0);
  parallel_ranges(n, scan_step, threads_, [&](int32_t, int64_t begin, int64_t end) {
    at[begin / scan_step + 1] = std::count(is_active_.begin() + begin, is_active_.begin() + end, 1);
  });
  for (size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
  active_.resize(at.back());
  parallel_ranges(n, scan_step, threads_, [&](int32_t, int64_t begin, int64_t end) {
    int64_t filled = at[begin / scan_step];
    for (int64_t v = begin; v < end; ++v) {
      if (!is_active_[v]) continue;
      active_[filled++] = static_cast<int32_t>(v);
      is_active_[v] = 0;
    }
  });
}

// Writes the best block for every active vertex and its gain, and lists those with a gain as candidates.
template <class W>
template <class D>
void SynchronousMoves<W>::choose(const PartitionArrays<W>& partition, const D& distance) {
  const Graph<W>& g = partition.graph;
  for_each(active_, [&](int32_t worker, int32_t v) {
    if (locked_[v]) {
      locked_[v] = 0;
      return;
    }
    const int32_t own = partition.block[v];
    SparseSums& sums = sums_[worker];
    int64_t e = g.start[v];
    while (e < g.start[v + 1] && partition.block[g.adj[e]] == own) ++e;
    if (e == g.start[v + 1]) return;
    sums.start(g.degree(v));
    for (e = g.start[v]; e < g.start[v + 1]; ++e) sums.add(partition.block[g.adj[e]], g.weight[e]);
    auto cost = [&](int32_t b) {
      int64_t total = 0;
      for (const auto& [block, weight] : sums.entries()) total += weight * distance(b, block);
      return total;
    };
    const int64_t own_cost = cost(own);
    int64_t best = std::numeric_limits<int64_t>::min(), inside = 0;
    for (const auto& [b, weight] : sums.entries())
      if (b == own) inside = weight;
    int32_t target = -1;
    size_t compared = 0;
    for (const auto& [b, weight] : sums.entries()) {
      if (b == own || partition.load[b] + g.load[v] > max_block_weight_[b]) continue;
      if (++compared > most_blocks) break;
      const int64_t gain = own_cost - cost(b);
      if (gain > best || (gain == best && partition.load[b] < partition.load[target]))
        best = gain, target = b;
    }
    if (target < 0 || best * 8 < -tolerance_ * inside * distance(own, target)) return;
    target_[v] = target;
    gain_[v] = best;
  });
  candidates_.clear();
  for (const int32_t v : active_)
    if (target_[v] >= 0) candidates_.push_back(v);
}

// Computes the gains again as if all candidates with larger ones had moved.
template <class W>
template <class D>
void SynchronousMoves<W>::confirm(const PartitionArrays<W>& partition, const D& distance) {
  const Graph<W>& g = partition.graph;
  std::fill(incoming_.begin(), incoming_.end(), 0);
  for_each(candidates_, [&](int32_t, int32_t v) {
    const int32_t from = partition.block[v], to = target_[v];
    int64_t gain = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      const int32_t b = target_[u] >= 0 && before(u, v) ? target_[u] : partition.block[u];
      gain += g.weight[e] * (distance(from, b) - distance(to, b));
    }
    confirmed_[v] = tolerance_ > 0 ? gain >= 0 : gain > 0;
    if (confirmed_[v]) shared_add(incoming_[to], g.load[v]);
  });
}

// Keeps the candidates that are confirmed and fit.
template <class W> void SynchronousMoves<W>::keep_to_capacity(const PartitionArrays<W>& partition) {
  auto room = [&](int32_t b) { return max_block_weight_[b] - partition.load[b]; };
  std::vector<int32_t> competing;
  for (const int32_t v : candidates_)
    if (confirmed_[v] && incoming_[target_[v]] > room(target_[v])) competing.push_back(v);
  std::sort(competing.begin(), competing.end(), [&](int32_t u, int32_t v) { return before(u, v); });
  std::vector<int64_t> entered(incoming_.size(), 0);
  for (const int32_t v : competing) {
    const int64_t load = partition.graph.load[v];
    confirmed_[v] = entered[target_[v]] + load <= room(target_[v]);
    if (confirmed_[v]) entered[target_[v]] += load;
  }
  std::erase_if(candidates_, [&](int32_t v) {
    if (!confirmed_[v]) target_[v] = -1;
    return !confirmed_[v];
  });
}

// Returns the change of the cost if all candidates move.
template <class W>
template <class D>
int64_t SynchronousMoves<W>::change_of_cost(const PartitionArrays<W>& partition, const D& distance) {
  const Graph<W>& g = partition.graph;
  int64_t twice = 0;  // edges between two candidates are counted from both ends
  for_each(candidates_, [&](int32_t, int32_t v) {
    const int32_t from = partition.block[v], to = target_[v];
    int64_t own = 0;
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e], b = partition.block[u];
      const bool both = target_[u] >= 0;
      own += g.weight[e] * (distance(to, both ? target_[u] : b) - distance(from, b)) * (both ? 1 : 2);
    }
    shared_add(twice, own);
  });
  return twice / 2;
}

// Moves all candidates; they and their neighbours become active.
template <class W> void SynchronousMoves<W>::apply(PartitionArrays<W>& partition) {
  const Graph<W>& g = partition.graph;
  for_each(candidates_, [&](int32_t, int32_t v) {
    shared_add(partition.load[partition.block[v]], -g.load[v]);
    shared_add(partition.load[target_[v]], g.load[v]);
    partition.block[v] = target_[v];
    target_[v] = -1;
    locked_[v] = 1;
    shared_store(is_active_[v], uint8_t{1});
    shared_store(partition.near_boundary[v], uint8_t{1});
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      shared_store(is_active_[g.adj[e]], uint8_t{1});
      shared_store(partition.near_boundary[g.adj[e]], uint8_t{1});
    }
  });
}

template class SynchronousMoves<int32_t>;
template class SynchronousMoves<int64_t>;

}  // namespace hopbytes
