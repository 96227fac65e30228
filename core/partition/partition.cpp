#include "partition/partition.hpp"

#include <algorithm>

namespace hopbytes {

template <class W> void Partition<W>::use_graph(const Graph<W>& g) {
  g_ = &g;
  linear_cost_ = edges_only_ ? nullptr : g.linear_cost.get();
  boundary_known_ = false;
}

template <class W> void Partition<W>::assign(const Graph<W>& g, std::vector<int32_t> block) {
  use_graph(g);
  block_ = std::move(block);
  projected_ = false;
  blocks_were_changed();
}

template <class W> void Partition<W>::blocks_were_changed() {
  std::fill(load_.begin(), load_.end(), 0);
  for (int64_t v = 0; v < g_->n; ++v) load_[block_[v]] += g_->load[v];
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
    for (int64_t v = 0; v < finer.n; ++v) may_be_boundary_[v] = mark_[map[v]];
    for (int32_t v : boundary_) mark_[v] = 0;
  }
  std::vector<int32_t> fine(finer.n);
  for (int64_t v = 0; v < finer.n; ++v) fine[v] = block_[map[v]];
  block_.swap(fine);
  projected_ = true;
  use_graph(finer);
}

template <class W> void Partition<W>::find_boundary() {
  if (boundary_known_) return;
  connectivity_.attach(*g_, block_.data());
  boundary_.clear();
  for (int32_t v = 0; v < g_->n; ++v)
    if ((may_be_boundary_.empty() || may_be_boundary_[v] || has_cheaper_block(v)) && on_boundary(v))
      boundary_.push_back(v);
  boundary_known_ = true;
}

template <class W>
void Partition<W>::update_boundary(std::span<const int32_t> moved, std::vector<int32_t>& near_moves) {
  mark_.resize(std::max<size_t>(mark_.size(), g_->n), 0);
  suspects_.clear();
  auto suspect = [&](int32_t v) {
    if (!mark_[v]) mark_[v] = 1, suspects_.push_back(v);
  };
  for (int32_t v : moved) {
    suspect(v);
    for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) suspect(g_->adj[e]);
  }
  const size_t near = suspects_.size();
  for (int32_t v : boundary_) suspect(v);
  boundary_.clear();
  near_moves.clear();
  for (size_t i = 0; i < suspects_.size(); ++i) {
    mark_[suspects_[i]] = 0;
    if (!on_boundary(suspects_[i])) continue;
    boundary_.push_back(suspects_[i]);
    if (i < near) near_moves.push_back(suspects_[i]);
  }
  std::sort(boundary_.begin(), boundary_.end());
  std::sort(near_moves.begin(), near_moves.end());
}

template <class W> void Partition<W>::restore(Snapshot snapshot) {
  block_ = std::move(snapshot.block);
  boundary_ = std::move(snapshot.boundary);
  load_ = std::move(snapshot.load);
  connectivity_.attach(*g_, block_.data());
}

template <class W> int64_t Partition<W>::cost_at_boundary() const {
  int64_t total = total_linear_cost(*g_, block_.data());
  distance_.in_form([&](const auto& distance) {
    for (int32_t v : boundary_)
      for (int64_t e = g_->start[v]; e < g_->start[v + 1]; ++e) {
        const int32_t u = g_->adj[e];
        if (u > v && block_[u] != block_[v]) total += g_->weight[e] * distance(block_[v], block_[u]);
      }
  });
  return total;
}

template class Partition<int32_t>;
template class Partition<int64_t>;

}  // namespace hopbytes
