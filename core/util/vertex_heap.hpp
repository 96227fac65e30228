// A priority queue of vertices.
#pragma once
#include <cstdint>
#include <vector>

namespace hopbytes {

// A binary max-heap of vertices with changeable keys.
class VertexHeap {
 public:
  void resize(int64_t n) {
    if (static_cast<int64_t>(place_.size()) < n) place_.resize(n, -1);
  }
  bool empty() const { return items_.empty(); }
  bool contains(int32_t v) const { return place_[v] >= 0; }
  int32_t top() const { return items_[0].vertex; }
  int64_t top_key() const { return items_[0].key; }
  int64_t key(int32_t v) const { return items_[place_[v]].key; }
  void push(int32_t v, int64_t key) {
    place_[v] = static_cast<int32_t>(items_.size());
    items_.push_back({key, v});
    up(place_[v]);
  }
  void change(int32_t v, int64_t key) {
    const int32_t i = place_[v];
    const int64_t old = items_[i].key;
    items_[i].key = key;
    if (key > old) up(i);
    else if (key < old) down(i);
  }
  // Queues v, or changes its key.
  void set(int32_t v, int64_t key) {
    if (contains(v)) change(v, key);
    else push(v, key);
  }
  void remove(int32_t v) {
    const int32_t i = place_[v];
    place_[v] = -1;
    const Item last = items_.back();
    items_.pop_back();
    if (last.vertex == v) return;
    items_[i] = last;
    place_[last.vertex] = i;
    up(i);
    down(place_[last.vertex]);
  }
  void pop() { remove(top()); }
  void clear() {
    for (const Item& item : items_) place_[item.vertex] = -1;
    items_.clear();
  }

 private:
  struct Item {
    int64_t key;
    int32_t vertex;
  };
  void put(int32_t i, Item item) {
    items_[i] = item;
    place_[item.vertex] = i;
  }
  void up(int32_t i) {
    const Item item = items_[i];
    while (i > 0 && items_[(i - 1) / 2].key < item.key) put(i, items_[(i - 1) / 2]), i = (i - 1) / 2;
    put(i, item);
  }
  void down(int32_t i) {
    const Item item = items_[i];
    const int64_t size = static_cast<int64_t>(items_.size());
    for (int64_t child; (child = 2 * int64_t{i} + 1) < size; i = static_cast<int32_t>(child)) {
      if (child + 1 < size && items_[child + 1].key > items_[child].key) ++child;
      if (items_[child].key <= item.key) break;
      put(i, items_[child]);
    }
    put(i, item);
  }
  std::vector<Item> items_;
  std::vector<int32_t> place_;
};

}  // namespace hopbytes
