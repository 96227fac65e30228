// The rows of a graph in ranges of about equal work, for passes over all arcs by several threads.
#pragma once
#include <span>

#include "util/parallel.hpp"

namespace hopbytes {

// How many rows and arcs together a thread takes at once.
constexpr int64_t kItemsPerRange = 1 << 16;

// Returns the first row that has at least `items` rows and arcs before it.
inline int64_t row_after(std::span<const int64_t> indptr, int64_t items) {
  int64_t low = 0, high = static_cast<int64_t>(indptr.size()) - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (middle + indptr[middle] < items) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Calls work(worker, begin, end) for consecutive ranges of rows; with one thread there is one range. A row is
// never divided. `worker` numbers the threads that take part.
inline void parallel_rows(std::span<const int64_t> indptr, Team& team,
                          const std::function<void(int32_t, int64_t, int64_t)>& work) {
  const auto n = static_cast<int64_t>(indptr.size()) - 1;
  if (team.threads() == 1 || n + indptr[n] <= kItemsPerRange) return work(0, 0, n);
  parallel_ranges(n + indptr[n], kItemsPerRange, team, [&](int32_t worker, int64_t begin, int64_t end) {
    work(worker, row_after(indptr, begin), row_after(indptr, end));
  });
}

// Calls work(part, begin, end) for `parts` consecutive ranges of rows.
inline void parallel_parts(std::span<const int64_t> indptr, int64_t parts, Team& team,
                           const std::function<void(int64_t, int64_t, int64_t)>& work) {
  const auto n = static_cast<int64_t>(indptr.size()) - 1;
  const auto row = [&](int64_t part) { return row_after(indptr, (n + indptr[n]) / parts * part); };
  parallel_for(parts, team,
               [&](int64_t part) { work(part, row(part), part + 1 < parts ? row(part + 1) : n); });
}

}  // namespace hopbytes
