// The order of items by bucket, by counting sort.
#pragma once
#include <span>

#include "util/parallel.hpp"
#include "util/unset_vector.hpp"

namespace hopbytes {

// Calls place(i, position) for each of the items 0 .. count - 1. The positions order the items by
// bucket_of(i), and those of a bucket by their numbers. first[b] becomes the position of the first item of
// bucket b, and first[buckets] the number of items. Ranges of items are counted and placed side by side.
// O(items + buckets).
template <class BucketOf, class Place>
void order_by_bucket(int64_t count, int64_t buckets, Team& team, BucketOf bucket_of, std::span<int64_t> first,
                     Place place) {
  constexpr int64_t fewest_items = 1 << 13,
                    items_per_bucket = 16;  // so that few counters are added up in turn
  const int64_t step = std::max(fewest_items, items_per_bucket * buckets);
  const int64_t ranges = (count + step - 1) / step;
  std::vector<int64_t> next(ranges * buckets, 0);  // of each range, where its next item of a bucket goes
  parallel_ranges(count, step, team, [&](int32_t, int64_t begin, int64_t end) {
    int64_t* found = next.data() + begin / step * buckets;
    for (int64_t i = begin; i < end; ++i) ++found[bucket_of(i)];
  });
  int64_t placed = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    first[b] = placed;
    for (int64_t range = 0; range < ranges; ++range)
      placed += std::exchange(next[range * buckets + b], placed);
  }
  first[buckets] = placed;
  parallel_ranges(count, step, team, [&](int32_t, int64_t begin, int64_t end) {
    int64_t* to = next.data() + begin / step * buckets;
    for (int64_t i = begin; i < end; ++i) place(i, to[bucket_of(i)]++);
  });
}

// Items by bucket, those of a bucket in their order.
template <class T> class Buckets {
 public:
  Buckets() = default;
  // The items are the numbers 0 .. count - 1.
  template <class BucketOf>
  Buckets(int64_t count, int64_t buckets, BucketOf bucket_of, Team& team = Team::alone())
      : first_(buckets + 1), item_(count) {
    const auto place = [&](int64_t i, int64_t position) { item_[position] = static_cast<T>(i); };
    order_by_bucket(count, buckets, team, bucket_of, first_, place);
  }
  template <class BucketOf>
  Buckets(std::span<const T> items, int64_t buckets, BucketOf bucket_of, Team& team)
      : first_(buckets + 1), item_(items.size()) {
    const auto place = [&](int64_t i, int64_t position) { item_[position] = items[i]; };
    const auto bucket_at = [&](int64_t i) { return bucket_of(items[i]); };
    order_by_bucket(std::ssize(items), buckets, team, bucket_at, first_, place);
  }

  std::span<const T> of(int64_t bucket) const {
    return std::span(item_).subspan(first_[bucket], first_[bucket + 1] - first_[bucket]);
  }

 private:
  std::vector<int64_t> first_;
  UnsetVector<T> item_;
};

}  // namespace hopbytes
