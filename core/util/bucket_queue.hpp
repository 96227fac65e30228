// A bucket priority queue of vertices, for keys of a small range: one list per key.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hopbytes {

// Every operation takes constant time, except the search for the next nonempty list, which tests 64 lists at
// a time. Lists are last-in, first-out, which keeps a search in one region of the graph. If the range of keys
// is larger than the number of lists, several keys share one list, and the order within that list does not
// follow the keys.
//
// A vertex that leaves or gets another key remains in its old list as an outdated entry, which is removed
// when the list comes to the top. This is cheap because keys change far more often than a list comes to the
// top.
class BucketQueue {
 public:
  // Prepares the empty queue for keys in -furthest .. furthest and vertices in 0 .. n - 1.
  void prepare(int64_t n, int64_t furthest) {
    shift_ = 0;
    while ((furthest >> shift_) > kMostLists / 2 - 1) ++shift_;
    zero_ = (furthest >> shift_) + 1;
    const size_t lists = static_cast<size_t>(2 * zero_ + 1);
    if (first_.size() < lists) first_.resize(lists, kNone), used_.resize(lists / 64 + 1, 0);
    if (static_cast<int64_t>(item_.size()) < n) item_.resize(n);
    top_ = -1;
  }

  bool empty() const { return size_ == 0; }
  bool contains(int32_t v) const { return item_[v].entry != kNone; }
  int64_t key(int32_t v) const { return item_[v].key; }
  int32_t top() {
    for (;;) {
      while (used_[top_ / 64] == 0) top_ -= top_ % 64 + 1;
      top_ = top_ / 64 * 64 + static_cast<int32_t>(std::bit_width(used_[top_ / 64])) - 1;
      int32_t& first = first_[top_];
      while (first != kNone && item_[entry_[first].vertex].entry != first) first = entry_[first].next;
      if (first != kNone) return entry_[first].vertex;
      used_[top_ / 64] &= ~(uint64_t{1} << (top_ % 64));
    }
  }

  void push(int32_t v, int64_t key) {
    ++size_;
    change(v, key);
  }
  void change(int32_t v, int64_t key) {
    const auto list = static_cast<int32_t>((key >> shift_) + zero_);
    const auto entry = static_cast<int32_t>(entry_.size());
    item_[v] = {key, entry};
    entry_.push_back({v, list, first_[list]});
    first_[list] = entry;
    used_[list / 64] |= uint64_t{1} << (list % 64);
    top_ = std::max(top_, list);
  }
  void remove(int32_t v) {
    item_[v].entry = kNone;
    --size_;
  }
  void clear() {
    for (const Entry& entry : entry_) {
      item_[entry.vertex].entry = kNone;
      first_[entry.list] = kNone;
      used_[entry.list / 64] = 0;
    }
    entry_.clear();
    size_ = 0;
    top_ = -1;
  }

 private:
  static constexpr int32_t kNone = -1;
  static constexpr int64_t kMostLists = 1 << 13;
  struct Item {
    int64_t key = 0;
    int32_t entry = kNone;  // the entry that is valid
  };
  struct Entry {
    int32_t vertex, list, next;
  };

  std::vector<int32_t> first_;  // the entry of every list that was added last
  std::vector<uint64_t> used_;  // a bit per list: 0 means that the list is empty
  std::vector<Entry> entry_;
  std::vector<Item> item_;
  int64_t zero_ = 0, size_ = 0;
  int32_t shift_ = 0, top_ = -1;
};

}  // namespace hopbytes
