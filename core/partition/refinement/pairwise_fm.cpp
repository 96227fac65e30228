#include "partition/refinement/pairwise_fm.hpp"

#include <algorithm>

namespace hopbytes {

namespace {

int64_t allowed_imbalance(const GraphShape& g) { return g.max_load == 1 ? 0 : g.max_load; }

}  // namespace

template <class W> void PairwiseFm<W>::attach(Partition<W>& partition) {
  g_ = &partition.graph();
  part_ = partition.blocks().data();
  fm_.attach(*g_, part_);
}

template <class W> Score PairwiseFm<W>::quality(const Partition<W>& partition) const {
  Score s{0, edge_cut(partition.graph(), partition.blocks().data())};
  for (int32_t b = 0; b < k_; ++b)
    s.overload +=
        std::max<int64_t>(0, partition.loads()[b] - size_[b] - allowed_imbalance(partition.graph()));
  return s;
}

template <class W>
bool PairwiseFm<W>::improve_bisection(Partition<W>& partition, std::span<const int32_t> vertices,
                                      const Control& control) {
  load_ = partition.loads();
  fm_.weigh_blocks();
  const bool better = improve(0, 1, vertices, control);
  partition.blocks_were_changed();
  return better;
}

template <class W>
bool PairwiseFm<W>::improve(int32_t a, int32_t b, std::span<const int32_t> seeds, const Control& control) {
  typename TwoWayFm<W>::Limits limits;
  limits.window = g_->max_load;  // The window is one vertex: wider windows were measured and were worse.
  limits.allowed_imbalance = allowed_imbalance(*g_);
  limits.fruitless_moves = g_->max_load == 1 ? fruitless_moves_ * 3 / 5 : fruitless_moves_;
  int64_t gain = 0;
  const bool better = fm_.improve(a, b, seeds, limits, control.team(), gain);
  control.record_parallel_work(fm_.scanned_edges(), fm_.span());
  return better;
}

template <class W>
void PairwiseFm<W>::refine_attached(Partition<W>& partition, const Control& control) {
  load_ = partition.loads();
  fm_.weigh_blocks();
  const bool compare = refined_ && partition.projected() && static_cast<int64_t>(refined_->size()) == g_->n;
  active_.assign(k_, compare ? 0 : 1);
  if (static_cast<int64_t>(changed_.size()) < g_->n) changed_.resize(g_->n, 0);
  ++round_number_;
  for (int32_t v = 0; compare && v < g_->n; ++v)
    if (part_[v] != (*refined_)[v]) active_[part_[v]] = active_[(*refined_)[v]] = 1, mark(v);
  std::vector<int32_t> seeds;
  for (int32_t round = 0; round < rounds_ && !control.should_stop(); ++round) {
    if (std::find(active_.begin(), active_.end(), 1) == active_.end()) break;
    find_boundary(control);
    std::vector<uint8_t> next(k_, 0);
    const int32_t before = round_number_++;
    for (size_t begin = 0, end = 0; begin < boundary_.size(); begin = end) {
      const int64_t pair = boundary_[begin].pair;
      const auto a = static_cast<int32_t>(pair / k_), b = static_cast<int32_t>(pair % k_);
      seeds.clear();
      bool differs = round == 0 && !compare;
      for (; end < boundary_.size() && boundary_[end].pair == pair; ++end) {
        seeds.push_back(boundary_[end].vertex);
        differs |= changed_[seeds.back()] >= before;
      }
      if (!differs) continue;
      if (improve(a, b, seeds, control)) {
        next[a] = next[b] = 1;
        for (const int32_t v : fm_.moved()) mark(v);
      }
    }
    active_.swap(next);
  }
  partition.blocks_were_changed();
}

// Records that v and its neighbourhood have changed.
template <class W> void PairwiseFm<W>::mark(int32_t v) {
  changed_[v] = round_number_;
  for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) changed_[g_->adj[e]] = round_number_;
}

// Lists the boundary vertices of every pair of blocks with an active block, pair by pair.
template <class W> void PairwiseFm<W>::find_boundary(const Control& control) {
  boundary_.clear();
  const int64_t n = g_->n, step = vertices_per_range(*g_);
  const bool by_ranges = n > step && k_ < kVerticesPerRange;
  control.record_parallel_work(g_->arcs(), by_ranges ? most_arcs_of_range(*g_, step) : g_->arcs());
  if (!by_ranges || control.threads() == 1) {
    append_boundary(0, n, boundary_);
  } else {
    std::vector<std::vector<PairVertex>> found((n + step - 1) / step);
    parallel_ranges(n, step, control.team(), [&](int32_t, int64_t begin, int64_t end) {
      append_boundary(begin, end, found[begin / step]);
    });
    for (const auto& some : found) boundary_.insert(boundary_.end(), some.begin(), some.end());
  }
  if (k_ == 2) return;
  if (k_ <= kFewBlocks) return sort_by_counting();
  std::stable_sort(boundary_.begin(), boundary_.end(),
                   [](const PairVertex& x, const PairVertex& y) { return x.pair < y.pair; });
}

// Appends the vertices begin .. end-1 that are on a boundary, in ascending order.
template <class W>
void PairwiseFm<W>::append_boundary(int64_t begin, int64_t end, std::vector<PairVertex>& found) const {
  if (k_ == 2) return append_boundary_of_two(begin, end, found);
  std::vector<int32_t> last(k_, -1);  // the vertex entered last for each block
  for (auto v = static_cast<int32_t>(begin); v < end; ++v) {
    const int32_t own = part_[v];
    if (const auto known = fm_.weights_of(v); !known.empty()) {
      for (int32_t other = 0; other < k_; ++other)
        if (other != own && known[other] > 0 && (active_[own] || active_[other]))
          found.push_back({int64_t{std::min(own, other)} * k_ + std::max(own, other), v});
      continue;
    }
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      const int32_t other = part_[g_->adj[e]];
      if (other == own || last[other] == v || !(active_[own] || active_[other])) continue;
      last[other] = v;
      found.push_back({int64_t{std::min(own, other)} * k_ + std::max(own, other), v});
    }
  }
}

// With two blocks, one neighbour in the other block suffices to recognise a boundary vertex.
template <class W>
void PairwiseFm<W>::append_boundary_of_two(int64_t begin, int64_t end, std::vector<PairVertex>& found) const {
  for (auto v = static_cast<int32_t>(begin); v < end; ++v)
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e)
      if (part_[g_->adj[e]] != part_[v]) {
        found.push_back({1, v});
        break;
      }
}

// A counting sort, because this function runs thousands of times per second.
template <class W> void PairwiseFm<W>::sort_by_counting() {
  std::vector<int32_t> place(static_cast<size_t>(k_) * k_ + 1, 0);
  for (const PairVertex& c : boundary_) ++place[c.pair + 1];
  for (size_t p = 1; p < place.size(); ++p) place[p] += place[p - 1];
  sorted_.resize(boundary_.size());
  for (const PairVertex& c : boundary_) sorted_[place[c.pair]++] = c;
  boundary_.swap(sorted_);
}

template class TwoWayFm<int32_t>;
template class TwoWayFm<int64_t>;
template class PairwiseFm<int32_t>;
template class PairwiseFm<int64_t>;

}  // namespace hopbytes
