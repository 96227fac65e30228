// What is read of arrays of Python before compiled code relies on them: their sizes, and the ranges of
// indices. Python checks them when objects are made; this is the one pass that ends a call with an error in
// place of the process, should an array have changed since.
#pragma once
#include <algorithm>
#include <atomic>
#include <span>
#include <stdexcept>
#include <string>

#include "util/parallel.hpp"

namespace hopbytes {

inline void expect(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(std::string(what) + " that do not fit together");
}

// Throws unless all values lie in lowest..count - 1.
inline void expect_below(std::span<const int32_t> values, int64_t count, const char* what, Team& team,
                         int32_t lowest = 0) {
  constexpr int64_t kValues = 1 << 16;  // of a thread at once
  std::atomic<bool> outside{false};
  parallel_ranges(std::ssize(values), kValues, team, [&](int32_t, int64_t begin, int64_t end) {
    bool wrong = false;
    for (int64_t i = begin; i < end; ++i) wrong |= values[i] < lowest || values[i] >= count;
    if (wrong) outside.store(true, std::memory_order_relaxed);
  });
  if (outside) throw std::invalid_argument(std::string(what) + " outside their range");
}

// Throws unless offsets ascend from 0 to `last`.
inline void expect_offsets(std::span<const int64_t> start, size_t last, const char* what) {
  expect(!start.empty() && start.front() == 0 && start.back() == static_cast<int64_t>(last), what);
  bool falls = false;
  for (size_t i = 1; i < start.size(); ++i) falls |= start[i] < start[i - 1];
  expect(!falls, what);
}

// Throws unless these are rows of a graph; weights and loads may be empty.
inline void expect_graph(std::span<const int64_t> indptr, std::span<const int32_t> target, size_t weights,
                         size_t loads, Team& team = Team::alone()) {
  expect_offsets(indptr, target.size(), "rows of a graph");
  expect((weights == 0 || weights == target.size()) && (loads == 0 || loads + 1 == indptr.size()),
         "arrays of a graph");
  expect_below(target, std::ssize(indptr) - 1, "targets", team);
}

// The same for rows whose targets may lie outside them, and that have a PE below k for every target and row.
inline void expect_placed_rows(std::span<const int64_t> indptr, std::span<const int32_t> target,
                               size_t weights, std::span<const int32_t> pe, int64_t k, Team& team) {
  expect_offsets(indptr, target.size(), "rows of a graph");
  expect((weights == 0 || weights == target.size()) && pe.size() + 1 >= indptr.size(), "arrays of a graph");
  expect_below(target, std::ssize(pe), "targets", team);
  expect_below(pe, k, "PEs", team);
}

// Throws unless `pe` has a PE, or -1 where `lowest` is that, of every task.
inline void expect_placement(std::span<const int32_t> pe, size_t n, int64_t k, Team& team = Team::alone(),
                             int32_t lowest = 0) {
  expect(pe.size() == n, "a graph and a mapping");
  expect_below(pe, k, "PEs", team, lowest);
}

// Throws unless distances are those of k PEs.
inline void expect_distances(size_t labels, size_t bit_costs, size_t table, size_t k) {
  if (table == 0) expect(labels == k && bit_costs == 65, "distances");
  else if (labels == 0) expect(table == k * k, "distances");
  else expect(labels == k && table > 6 + 65, "distances");
}

}  // namespace hopbytes
