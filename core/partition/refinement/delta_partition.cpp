#include "partition/refinement/delta_partition.hpp"

#include <bit>

namespace hopbytes {

template <class W>
void DeltaPartition<W>::start(const Partition<W>& base, const std::vector<uint8_t>& locked) {
  if (slots_.empty()) grow_table();
  for (const Item& item : items_) slots_[item.slot].vertex = kNone;
  items_.clear(), sums_.clear(), computed_.clear(), computed_rows_.clear();
  scanned_edges_ = 0;
  if (k_ != base.k()) near_ = Connectivity<W>(base.k());
  base_ = &base;
  locked_ = &locked;
  k_ = base.k();
  dense_ = near_.cached();
  by_row_ = base.by_row();
  load_.assign(base.loads().begin(), base.loads().end());
  limit_ = base.max_block_weights();
}

template <class W> void DeltaPartition<W>::grow_table() {
  constexpr size_t first = 1 << 10;
  slots_.assign(std::max(first, 2 * slots_.size()), {});
  mask_ = slots_.size() - 1;
  shift_ = 32 - std::countr_zero(slots_.size());
  for (int32_t i = 0; i < count(); ++i) {
    const size_t at = slot_of(items_[i].vertex);
    slots_[at] = {items_[i].vertex, i};
    items_[i].slot = static_cast<int32_t>(at);
  }
}

template <class W> int32_t DeltaPartition<W>::touch_first(int32_t v, size_t at) {
  const int32_t i = count();
  slots_[at] = {v, i};
  Item& item = items_.emplace_back(v, base_->block(v), static_cast<int32_t>(at));
  item.load = base_->graph().load[v];
  item.hub = base_->graph().degree(v) > kHubDegree;
  if (dense_) add_row(i);
  else add_sums(item);
  if (2 * items_.size() > slots_.size()) grow_table();
  return i;
}

template <class W>
typename DeltaPartition<W>::Choice DeltaPartition<W>::choose_by_cost(int32_t i, int64_t slack) {
  const Item& item = items_[i];
  if (dense_) near_.select_row(rows_.data() + i * k_);
  else near_.select_sums(std::span(sums_).subspan(item.sums, item.count));
  return base_->choose_from(near_, item.vertex, item.block, load_, slack);
}

template <class W> void DeltaPartition<W>::add_row(int32_t i) {
  const Graph<W>& g = base_->graph();
  const int32_t v = items_[i].vertex;
  const int64_t k = k_, degree = g.degree(v);
  items_[i].edges_per_choice = static_cast<int32_t>(std::min(k, degree));
  if ((i + 1) * k > std::ssize(rows_)) rows_.resize(2 * (i + 1) * k);
  W* row = rows_.data() + i * k;
  if (const W* known = base_->known_row(v)) {
    for (int64_t b = 0; b < k; ++b) row[b] = known[b];
    return;
  }
  for (int64_t b = 0; b < k; ++b) row[b] = 0;
  const int32_t* block = base_->blocks().data();
  for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) row[block[g.adj[e]]] += g.weight[e];
  scanned_edges_ += degree - items_[i].edges_per_choice;  // choose() counts the other ones
  computed_.push_back(v);
  computed_rows_.insert(computed_rows_.end(), row, row + k);
}

template <class W> void DeltaPartition<W>::add_sums(Item& item) {
  constexpr int32_t more = 2;  // A search may bring vertices of further blocks near.
  scanned_edges_ += near_.select(base_->graph(), base_->blocks().data(), item.vertex);
  item.sums = std::ssize(sums_);
  near_.append_sums(sums_);
  item.count = item.edges_per_choice = static_cast<int32_t>(std::ssize(sums_) - item.sums);
  item.most = item.count + more;
  sums_.resize(item.sums + item.most);
}

template <class W> void DeltaPartition<W>::change_sum(Item& item, int32_t block, W weight) {
  for (int64_t s = item.sums; s < item.sums + item.count; ++s)
    if (sums_[s].block == block) {
      sums_[s].weight += weight;
      return;
    }
  if (item.count == item.most) {
    const int64_t sums = std::ssize(sums_);
    item.most = 2 * item.most;
    sums_.resize(sums + item.most);
    std::copy_n(sums_.begin() + item.sums, item.count, sums_.begin() + sums);
    item.sums = sums;
  }
  sums_[item.sums + item.count++] = {block, weight};
}

template class DeltaPartition<int32_t>;
template class DeltaPartition<int64_t>;

}  // namespace hopbytes
