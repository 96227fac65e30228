#include "partition/partition.hpp"

#include <algorithm>

namespace hopbytes {

// Calls work(begin, end) for ranges of vertices, which the threads share.
template <class W> template <class Work> void Partition<W>::for_ranges(int64_t n, Work work) const {
  if (team_.threads() == 1) return work(int64_t{0}, n);
  parallel_ranges(n, kVerticesPerRange, team_,
                  [&](int32_t, int64_t begin, int64_t end) { work(begin, end); });
}

template <class W> void Partition<W>::use_graph(const Graph<W>& g) {
  g_ = &g;
  linear_cost_ = edges_only_ ? nullptr : g.linear_cost.get();
  by_row_ = connectivity_.cached() && distance_.flat() && !linear_cost_;
  boundary_known_ = false;
}

template <class W> void Partition<W>::assign(const Graph<W>& g, std::vector<int32_t> block) {
  use_graph(g);
  block_ = std::move(block);
  projected_ = false;
  blocks_were_changed();
}

template <class W> void Partition<W>::sum_loads() {
  std::fill(load_.begin(), load_.end(), 0);
  if (team_.threads() == 1 || k_ > kVerticesPerRange / 4) {
    for (int64_t v = 0; v < g_->n; ++v) load_[block_[v]] += g_->load[v];
    return;
  }
  for_ranges(g_->n, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> own(k_, 0);
    for (int64_t v = begin; v < end; ++v) own[block_[v]] += g_->load[v];
    for (int32_t b = 0; b < k_; ++b)
      if (own[b] != 0) shared_add(load_[b], own[b]);
  });
}

template <class W> void Partition<W>::blocks_were_changed(std::span<const int32_t> moved) {
  sum_loads();
  connectivity_.attach(*g_, block_.data());
  std::vector<int32_t> near_moves;
  update_boundary(moved, near_moves);
}

template <class W> void Partition<W>::blocks_were_changed() {
  sum_loads();
  may_be_boundary_.clear();
  boundary_known_ = false;
}

template <class W>
void Partition<W>::project(const Graph<W>& finer, const std::vector<int32_t>& map) {
  may_be_boundary_.clear();
  if (boundary_known_) {
    mark_.resize(std::max(mark_.size(), block_.size()), 0);
    for (int32_t v : boundary_) mark_[v] = 1;
    may_be_boundary_.resize(finer.n);
    for_ranges(finer.n, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) may_be_boundary_[v] = mark_[map[v]];
    });
    for (int32_t v : boundary_) mark_[v] = 0;
  }
  std::vector<int32_t> fine(finer.n);
  for_ranges(finer.n, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) fine[v] = block_[map[v]];
  });
  block_.swap(fine);
  projected_ = true;
  use_graph(finer);
}

template <class W> void Partition<W>::find_boundary() {
  if (boundary_known_) return;
  connectivity_.attach(*g_, block_.data());
  boundary_.clear();
  auto collect = [&](int64_t begin, int64_t end, std::vector<int32_t>& found) {
    for (auto v = static_cast<int32_t>(begin); v < end; ++v)
      if ((may_be_boundary_.empty() || may_be_boundary_[v] || has_cheaper_block(v)) && on_boundary(v))
        found.push_back(v);
  };
  if (team_.threads() == 1) {
    collect(0, g_->n, boundary_);
  } else {
    std::vector<std::vector<int32_t>> found((g_->n + kVerticesPerRange - 1) / kVerticesPerRange);
    for_ranges(g_->n,
               [&](int64_t begin, int64_t end) { collect(begin, end, found[begin / kVerticesPerRange]); });
    for (const auto& some : found) boundary_.insert(boundary_.end(), some.begin(), some.end());
  }
  boundary_known_ = true;
}

template <class W>
void Partition<W>::update_boundary(std::span<const int32_t> moved, std::vector<int32_t>& near_moves) {
  near_moves.clear();
  if (moved.empty()) return;
  mark_.resize(std::max<size_t>(mark_.size(), g_->n), 0);
  suspects_.clear();
  auto suspect = [&](int32_t v) {
    if (!mark_[v]) mark_[v] = 1, suspects_.push_back(v);
  };
  for (int32_t v : moved) {
    suspect(v);
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) suspect(g_->adj[e]);
  }
  for (const int32_t v : suspects_)
    if (on_boundary(v)) near_moves.push_back(v);
  std::sort(near_moves.begin(), near_moves.end());
  std::erase_if(boundary_, [&](int32_t v) { return mark_[v] != 0; });
  for (const int32_t v : suspects_) mark_[v] = 0;
  suspects_.resize(boundary_.size() + near_moves.size());
  std::merge(boundary_.begin(), boundary_.end(), near_moves.begin(), near_moves.end(), suspects_.begin());
  boundary_.swap(suspects_);
}

template <class W> void Partition<W>::restore(Snapshot snapshot) {
  block_ = std::move(snapshot.block);
  boundary_ = std::move(snapshot.boundary);
  load_ = std::move(snapshot.load);
  connectivity_.attach(*g_, block_.data());
}

template <class W> int64_t Partition<W>::cost_at_boundary() const {
  int64_t total = total_linear_cost(*g_, block_.data());
  for (int32_t v : boundary_)
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
      const int32_t u = g_->adj[e];
      if (u > v && block_[u] != block_[v]) total += g_->weight[e] * distance_(block_[v], block_[u]);
    }
  return total;
}

template class Partition<int32_t>;
template class Partition<int64_t>;

}  // namespace hopbytes
