// Sums of few of many numbered items.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hopbytes {

// Adds up weights by key in a small hash table, so that its memory depends on the number of additions and not
// on the number of possible keys. Entries are listed in the order in which their keys came first.
class SparseSums {
 public:
  struct Entry {
    int32_t key;
    int64_t sum;
  };

  // Removes all entries and makes room for `most` different keys.
  void start(int64_t most) {
    const size_t wanted = std::bit_ceil(static_cast<size_t>(2 * most + 8));
    if (wanted > slot_.size()) slot_.assign(wanted, -1);
    else
      for (const int32_t at : used_) slot_[at] = -1;
    used_.clear();
    entries_.clear();
    mask_ = wanted - 1;
  }

  void add(int32_t key, int64_t weight) {
    const size_t at = place(key);
    if (slot_[at] >= 0) {
      entries_[slot_[at]].sum += weight;
      return;
    }
    slot_[at] = static_cast<int32_t>(entries_.size());
    used_.push_back(static_cast<int32_t>(at));
    entries_.push_back({key, weight});
  }

  const std::vector<Entry>& entries() const { return entries_; }
  int64_t of(int32_t key) const {
    const size_t at = place(key);
    return slot_[at] < 0 ? 0 : entries_[slot_[at]].sum;
  }

 private:
  // The slot of a key, or the free one where it belongs.
  size_t place(int32_t key) const {
    size_t at = (static_cast<uint32_t>(key) * 0x9e3779b1u >> 7) & mask_;
    while (slot_[at] >= 0 && entries_[slot_[at]].key != key) at = (at + 1) & mask_;
    return at;
  }

  std::vector<int32_t> slot_, used_;
  std::vector<Entry> entries_;
  size_t mask_ = 0;
};

}  // namespace hopbytes
