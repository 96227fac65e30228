#include "partition/refinement/independent_pairs.hpp"

#include <algorithm>

namespace hopbytes {

namespace {

void sort_once(std::vector<int64_t>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

}  // namespace

std::vector<std::vector<AdjacentBlocks>> IndependentPairs::batches(std::span<const AdjacentBlocks> pairs) {
  // Where blocks have very many neighbours, nearly all pairs depend on each other.
  constexpr int64_t most_neighbours = 32;
  const bool flat = distance_.flat();
  if (!flat && side_by_side_) {
    for (const AdjacentBlocks& pair : pairs) {
      adjacent_.push_back(pair.a * blocks_ + pair.b);
      adjacent_.push_back(pair.b * blocks_ + pair.a);
    }
    find_neighbours();
    pairs_of_.assign(blocks_, {});
    batch_of_.assign(pairs.size(), 0);
  }
  const bool alone = !flat && (!side_by_side_ || std::ssize(adjacent_) > most_neighbours * blocks_);
  std::vector<std::vector<AdjacentBlocks>> found;
  std::fill(next_.begin(), next_.end(), 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const AdjacentBlocks& pair = pairs[i];
    int64_t batch = alone ? std::ssize(found) : std::max(next_[pair.a], next_[pair.b]);
    if (!flat && !alone) {
      batch = batch_among_neighbours(pairs, pair, batch);
      batch_of_[i] = batch;
      pairs_of_[pair.a].push_back(i);
      pairs_of_[pair.b].push_back(i);
    }
    if (batch == std::ssize(found)) found.emplace_back();
    found[batch].push_back(pair);
    next_[pair.a] = next_[pair.b] = batch + 1;
  }
  return found;
}

// Returns the first batch, from a given one on, after those of dependent pairs.
int64_t IndependentPairs::batch_among_neighbours(std::span<const AdjacentBlocks> pairs,
                                                 const AdjacentBlocks& pair, int64_t batch) const {
  for (const int32_t own : {pair.a, pair.b})
    for (int64_t i = first_[own]; i < first_[own + 1]; ++i)
      for (const size_t other : pairs_of_[adjacent_[i] % blocks_])
        if (batch_of_[other] >= batch && dependent(pair, pairs[other])) batch = batch_of_[other] + 1;
  return batch;
}

void IndependentPairs::find_neighbours() {
  adjacent_.insert(adjacent_.end(), touched_.begin(), touched_.end());
  touched_.clear();
  sort_once(adjacent_);
  first_.assign(blocks_ + 1, 0);
  for (const int64_t key : adjacent_) ++first_[key / blocks_ + 1];
  for (int64_t b = 0; b < blocks_; ++b) first_[b + 1] += first_[b];
}

std::vector<std::vector<AdjacentBlocks>> IndependentPairs::still_independent(
    const std::vector<AdjacentBlocks>& batch) {
  std::vector<std::vector<AdjacentBlocks>> parts(1, batch);
  if (distance_.flat() || batch.size() < 2) return parts;
  for (int64_t i = 0; i < std::ssize(batch); ++i) owner_[batch[i].a] = owner_[batch[i].b] = i;
  std::vector<uint8_t> waits(batch.size(), 0);
  sort_once(touched_);
  for (const int64_t key : touched_) {
    const int64_t i = owner_[key / blocks_], j = owner_[key % blocks_];
    if (i >= 0 && j >= 0 && i != j && dependent(batch[i], batch[j])) waits[std::max(i, j)] = 1;
  }
  parts[0].clear();
  for (size_t i = 0; i < batch.size(); ++i) {
    owner_[batch[i].a] = owner_[batch[i].b] = -1;
    if (waits[i]) parts.push_back({batch[i]});
    else parts[0].push_back(batch[i]);
  }
  return parts;
}

void IndependentPairs::record_moves(const GraphShape& g, const std::vector<int32_t>& block,
                                    std::span<const int32_t> moved) {
  if (distance_.flat() || !side_by_side_) return;
  for (const int32_t v : moved)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      if (block[u] == block[v]) continue;
      touched_.push_back(block[v] * blocks_ + block[u]);
      touched_.push_back(block[u] * blocks_ + block[v]);
    }
}

}  // namespace hopbytes
