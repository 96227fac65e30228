// A priority queue of vertices for keys of small range: a list per key.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hopbytes {

// Every operation takes constant time but for the way down to the next list that is not empty, which is
// looked for among 64 lists at once. The last vertex put into a list is the first to leave it, which keeps
// searches in one place. Keys of a larger range share lists; the order within one is then not by key.
class BucketQueue {
 public:
  // Keys will lie in -furthest .. furthest and vertices in 0 .. n - 1. The queue must be empty.
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
  bool contains(int32_t v) const { return item_[v].list != kNone; }
  int64_t key(int32_t v) const { return item_[v].key; }
  int32_t top() {
    if (first_[top_] == kNone) {
      int32_t word = top_ / 64;
      while (used_[word] == 0) --word;
      top_ = word * 64 + std::bit_width(used_[word]) - 1;
    }
    return first_[top_];
  }

  void push(int32_t v, int64_t key) {
    seen_.push_back(v);
    ++size_;
    link(v, key);
  }
  void change(int32_t v, int64_t key) {
    unlink(v);
    link(v, key);
  }
  void remove(int32_t v) {
    unlink(v);
    item_[v].list = kNone;
    --size_;
  }
  void clear() {
    for (int32_t v : seen_)
      if (contains(v)) remove(v);
    seen_.clear();
    top_ = -1;
  }

 private:
  static constexpr int32_t kNone = -1;
  static constexpr int64_t kMostLists = 1 << 13;
  struct Item {
    int64_t key = 0;
    int32_t list = kNone, before = kNone, after = kNone;
  };

  void link(int32_t v, int64_t key) {
    const auto list = static_cast<int32_t>((key >> shift_) + zero_);
    item_[v] = {key, list, kNone, first_[list]};
    if (first_[list] != kNone) item_[first_[list]].before = v;
    else used_[list / 64] |= uint64_t{1} << (list % 64);
    first_[list] = v;
    top_ = std::max(top_, list);
  }
  void unlink(int32_t v) {
    const Item& item = item_[v];
    if (item.before != kNone) item_[item.before].after = item.after;
    else if ((first_[item.list] = item.after) == kNone) used_[item.list / 64] &= ~(uint64_t{1} << (item.list % 64));
    if (item.after != kNone) item_[item.after].before = item.before;
  }

  std::vector<int32_t> first_, seen_;
  std::vector<uint64_t> used_;  // a bit per list: whether it holds any
  std::vector<Item> item_;
  int64_t zero_ = 0, size_ = 0;
  int32_t shift_ = 0, top_ = -1;
};

}  // namespace hopbytes
