// What kernels read of arrays before they rely on them: their sizes, and the ranges of indices. Python checks
// them when objects are made; this is the one pass that ends a call with an error in place of the process,
// should an array have changed since.
#pragma once
#include <limits>
#include <stdexcept>
#include <string>

#include "graph/csr.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

inline void expect(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(std::string(what) + " that do not fit together");
}

// Throws unless all values lie in lowest..count - 1.
template <class T>
void expect_below(std::span<T> values, int64_t count, const char* what, Team& team = Team::alone(),
                  int64_t lowest = 0) {
  constexpr int64_t kValues = 1 << 16;  // of a thread at once
  constexpr int64_t largest = std::numeric_limits<std::remove_cv_t<T>>::max();
  // In the type of the values, which are compared several at once.
  const auto least = static_cast<T>(lowest), most = static_cast<T>(std::clamp(count - 1, lowest, largest));
  std::atomic<bool> outside{count <= lowest && !values.empty()};
  parallel_ranges(std::ssize(values), kValues, team, [&](int32_t, int64_t begin, int64_t end) {
    std::remove_cv_t<T> wrong = 0;
    for (int64_t i = begin; i < end; ++i)
      wrong = static_cast<decltype(wrong)>(wrong | (values[i] < least) | (values[i] > most));
    if (wrong != 0) outside.store(true, std::memory_order_relaxed);
  });
  if (outside) throw std::invalid_argument(std::string(what) + " outside their range");
}

// Throws unless offsets ascend from 0 to `last`.
inline void expect_offsets(In<int64_t> start, size_t last, const char* what) {
  expect(!start.empty() && start.front() == 0 && start.back() == static_cast<int64_t>(last), what);
  bool falls = false;
  for (size_t i = 1; i < start.size(); ++i) falls |= start[i] < start[i - 1];
  expect(!falls, what);
}

// Throws unless these are rows of arcs to numbers below `count`. Weights may be empty.
inline void expect_rows(const Csr& g, int64_t count, Team& team = Team::alone()) {
  expect_offsets(g.indptr, g.target.size(), "rows of a graph");
  expect(g.weight.empty() || g.weight.size() == g.target.size(), "arrays of a graph");
  expect_below(g.target, count, "targets", team);
}
inline void expect_graph(const Csr& g, Team& team = Team::alone()) { expect_rows(g, g.n(), team); }

// Throws unless `pe` has a PE, or -1 where `lowest` is that, of every task.
inline void expect_placement(In<int32_t> pe, int64_t n, int64_t k, Team& team = Team::alone(),
                             int32_t lowest = 0) {
  expect(std::ssize(pe) == n, "a graph and a mapping");
  expect_below(pe, k, "PEs", team, lowest);
}

// The same for rows whose targets may lie outside them, and that have a PE below k for every target and row.
inline void expect_placed_rows(const Csr& g, In<int32_t> pe, int64_t k, Team& team) {
  expect_rows(g, std::ssize(pe), team);
  expect(std::ssize(pe) >= g.n(), "a graph and a mapping");
  expect_below(pe, k, "PEs", team);
}

// Throws unless PEs have room for n tasks.
inline void expect_room(In<int64_t> room, int64_t n) {
  __int128 sum = 0;
  for (const int64_t each : room) sum += std::max<int64_t>(each, 0);
  expect(sum >= n, "tasks and room");
}

}  // namespace hopbytes
