#include "partition/partition.hpp"

#include "partition/score.hpp"

namespace hopbytes {

template <class W> void Partition<W>::use_graph(const Graph<W>& g) {
  g_ = &g;
  linear_cost_ = g.linear_cost.get();
  by_row_ = connectivity_.cached() && distance_.flat() && !linear_cost_;
  boundary_known_ = false;
}

template <class W> void Partition<W>::assign(const Graph<W>& g, std::vector<int32_t> block) {
  use_graph(g);
  block_ = std::move(block);
  projected_ = false;
  blocks_were_changed();
}

template <class W> void Partition<W>::sum_loads() { load_ = block_loads(*g_, k_, block_.data(), team_); }

template <class W>
void Partition<W>::blocks_were_changed(std::span<const int32_t> moved, const std::vector<int64_t>& loads) {
  load_ = loads;
  connectivity_.attach(*g_, block_.data());
  std::vector<int32_t> near_moves;
  update_boundary(moved, near_moves);
}

template <class W> void Partition<W>::blocks_were_changed() {
  sum_loads();
  may_be_boundary_.clear();
  boundary_known_ = false;
}

template <class W> void Partition<W>::moved_near_boundary(const std::vector<int64_t>& loads) {
  load_ = loads;
  boundary_known_ = false;
}

template <class W> std::span<uint8_t> Partition<W>::may_be_boundary() {
  if (boundary_known_) {
    may_be_boundary_.resize(g_->n);
    std::fill(may_be_boundary_.begin(), may_be_boundary_.end(), 0);
    for (const int32_t v : boundary_) may_be_boundary_[v] = 1;
  } else if (may_be_boundary_.empty()) {
    may_be_boundary_.resize(g_->n);
    std::fill(may_be_boundary_.begin(), may_be_boundary_.end(), 1);
  }
  return may_be_boundary_;
}

template <class W>
void Partition<W>::project(const Graph<W>& finer, std::span<const int32_t> map) {
  UnsetVector<uint8_t> coarse_marks;
  if (boundary_known_ || !may_be_boundary_.empty()) {
    may_be_boundary();
    coarse_marks.swap(may_be_boundary_);
    may_be_boundary_.resize(finer.n);
  }
  std::vector<int32_t> fine(finer.n);
  parallel_ranges(finer.n, kVerticesPerRange, team_, [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) fine[v] = block_[map[v]];
    if (coarse_marks.empty()) return;
    for (int64_t v = begin; v < end; ++v) may_be_boundary_[v] = coarse_marks[map[v]];
  });
  block_.swap(fine);
  projected_ = true;
  use_graph(finer);
}

template <class W> void Partition<W>::find_boundary() {
  if (boundary_known_) return;
  connectivity_.attach(*g_, block_.data());
  boundary_.clear();
  std::vector<std::vector<int32_t>> found((g_->n + kVerticesPerRange - 1) / kVerticesPerRange);
  parallel_ranges(g_->n, kVerticesPerRange, team_, [&](int32_t, int64_t begin, int64_t end) {
    std::vector<int32_t>& own = found.size() == 1 ? boundary_ : found[begin / kVerticesPerRange];
    for (auto v = static_cast<int32_t>(begin); v < end; ++v)
      if ((may_be_boundary_.empty() || may_be_boundary_[v] || has_cheaper_block(v)) && on_boundary(v))
        own.push_back(v);
  });
  for (const auto& some : found) boundary_.insert(boundary_.end(), some.begin(), some.end());
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

template <class W> int64_t Partition<W>::cost_at_boundary() const {
  constexpr int64_t vertices_per_range = 1 << 9;
  const auto cost_of = [&](int64_t begin, int64_t end) {
    int64_t total = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int32_t v = boundary_[i];
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        if (u > v && block_[u] != block_[v]) total += g_->weight[e] * distance_(block_[v], block_[u]);
      }
    }
    return total;
  };
  return total_linear_cost(*g_, block_.data()) +
         parallel_sum(std::ssize(boundary_), vertices_per_range, team_, cost_of);
}

template <class W> bool Partition<W>::verify() const {
  for (const int32_t b : block_)
    if (b < 0 || b >= k_) return false;
  if (block_loads(*g_, k_, block_.data()) != load_) return false;
  if (!boundary_known_) return true;
  std::vector<int32_t> found;
  for (int32_t v = 0; v < g_->n; ++v)
    if (on_boundary(v)) found.push_back(v);
  return found == boundary_ && connectivity_.verify();
}

template class Partition<int32_t>;
template class Partition<int64_t>;

}  // namespace hopbytes
