// How much of every block a vertex has, while the blocks diffuse over a graph.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hopbytes {

struct BlockShare {
  int32_t block;
  float value;
};

// The largest shares of every vertex, the larger ones first; at least one.
class BlockShares {
 public:
  static constexpr int32_t kMost = 4;

  void resize(int64_t n) { share_.resize(n * kMost), count_.resize(n); }
  std::span<const BlockShare> of(int64_t v) const { return {share_.data() + v * kMost, count_[v]}; }
  bool undivided(int64_t v) const { return count_[v] == 1; }
  int32_t first_block(int64_t v) const { return share_[v * kMost].block; }

  void set_undivided(int64_t v, int32_t block) {
    share_[v * kMost] = {block, 1.0F};
    count_[v] = 1;
  }
  void set(int64_t v, std::span<const BlockShare> shares) {
    std::copy(shares.begin(), shares.end(), share_.begin() + v * kMost);
    count_[v] = static_cast<uint8_t>(shares.size());
  }

 private:
  std::vector<BlockShare> share_;
  std::vector<uint8_t> count_;
};

// Adds up the shares of one vertex. O(blocks) memory.
class ShareSum {
 public:
  explicit ShareSum(int64_t blocks) : value_(blocks, 0.0F) {}

  void add(int32_t block, float value) {
    if (value_[block] == 0.0F) blocks_.push_back(block);
    value_[block] += value;
  }
  void add(std::span<const BlockShare> shares, float factor) {
    for (const BlockShare& share : shares) add(share.block, factor * share.value);
  }

  // Gives v the largest sums and starts anew. Tiny shares are dropped; they would spread over the whole
  // graph.
  void move_to(BlockShares& shares, int64_t v) {
    constexpr float tiny = 1e-3F;
    found_.clear();
    for (const int32_t block : blocks_) {
      if (value_[block] > tiny || found_.empty()) found_.push_back({block, value_[block]});
      value_[block] = 0.0F;
    }
    blocks_.clear();
    std::sort(found_.begin(), found_.end(), [](const BlockShare& a, const BlockShare& b) {
      return a.value != b.value ? a.value > b.value : a.block < b.block;
    });
    if (std::ssize(found_) > BlockShares::kMost) found_.resize(BlockShares::kMost);
    while (found_.size() > 1 && found_.back().value <= tiny) found_.pop_back();
    if (found_.size() == 1) shares.set_undivided(v, found_[0].block);
    else shares.set(v, found_);
  }

 private:
  std::vector<float> value_;     // of every block; 0 between vertices
  std::vector<int32_t> blocks_;  // those with a value
  std::vector<BlockShare> found_;
};

}  // namespace hopbytes
