// Checks of compressed sparse rows that were given. Several threads may share the rows; the answers are those
// of one.
#pragma once
#include "graph/checked.hpp"
#include "graph/row_ranges.hpp"

namespace hopbytes {

inline void set_if_less(std::atomic<int64_t>& first, int64_t found) {
  int64_t now = first.load(std::memory_order_relaxed);
  while (found < now && !first.compare_exchange_weak(now, found, std::memory_order_relaxed)) {
  }
}

// Returns the first of some rows that is not valid, `end` if all are.
inline int64_t first_invalid_row(In<int64_t> indptr, In<int32_t> target, int64_t begin, int64_t end) {
  const auto n = std::ssize(indptr) - 1, m = std::ssize(target);
  for (int64_t i = begin; i < end; ++i) {
    if (indptr[i] < 0 || indptr[i] > indptr[i + 1] || indptr[i + 1] > m) return i;
    int64_t previous = -1;
    for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
      if (target[e] <= previous || target[e] >= n) return i;
      previous = target[e];
    }
  }
  return end;
}

// Returns whether some rows are valid, in loops without branches, which take a fifth of the time. Rows ascend
// if targets fall or repeat nowhere but where another row begins.
inline bool rows_are_valid(In<int64_t> indptr, In<int32_t> target, int64_t begin, int64_t end) {
  bool descends = false;
  for (int64_t i = begin; i < end; ++i) descends |= indptr[i] > indptr[i + 1];
  const int64_t first = indptr[begin], last = indptr[end];
  if (descends || first < 0 || last > std::ssize(target)) return false;
  if (first == last) return true;
  // Numbers of one size, so that several targets are compared at once.
  const auto most = static_cast<int32_t>(std::ssize(indptr) - 2);
  int32_t outside = target[first] < 0 || target[first] > most;
  uint32_t falls = 0, falls_between_rows = 0;
  for (int64_t e = first + 1; e < last; ++e) {
    falls += target[e] <= target[e - 1];
    outside |= (target[e] < 0) | (target[e] > most);
  }
  for (int64_t i = begin; i < end; ++i) {
    const bool starts = indptr[i] > first && indptr[i] < indptr[i + 1];
    const int64_t e = std::clamp(indptr[i], std::min(first + 1, last - 1), last - 1);
    falls_between_rows += static_cast<uint32_t>(starts) & (target[e] <= target[std::max<int64_t>(e - 1, 0)]);
  }
  return outside == 0 && falls == falls_between_rows;
}

// Returns the first row whose targets are unsorted, duplicated or out of range; n if the row pointers do not
// span the arcs; -1 if the graph is valid.
inline int64_t check_csr(In<int64_t> indptr, In<int32_t> target, Team& team) {
  expect(!indptr.empty(), "rows of a graph");
  constexpr int64_t kRows = 1 << 12;  // at once, so that caches hold their arcs
  const auto n = std::ssize(indptr) - 1;
  if (indptr[0] != 0 || indptr[n] != std::ssize(target)) return n;
  std::atomic<int64_t> first{n};
  const auto check = [&](int32_t, int64_t begin, int64_t end) {
    if (begin < first.load(std::memory_order_relaxed) && !rows_are_valid(indptr, target, begin, end)) {
      const int64_t row = first_invalid_row(indptr, target, begin, end);
      if (row < end) set_if_less(first, row);
    }
  };
  const bool many = n + std::ssize(target) > kItemsPerRange;
  parallel_ranges(n, kRows, many ? team : Team::alone(), check);
  return first == n ? -1 : first.load();
}

inline bool has_diagonal(In<int64_t> indptr, In<int32_t> target, Team& team) {
  expect_graph(Csr{indptr, target, {}}, team);
  std::atomic<bool> found{false};
  parallel_rows(indptr, team, [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !found.load(std::memory_order_relaxed); ++i)
      for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e)
        if (target[e] == i) found = true;
  });
  return found;
}

// Returns the reverse of the arc from i to j, -1 if it is missing. O(log of the degree of j).
inline int64_t reverse_of(const Csr& g, int64_t i, int64_t j) {
  const auto end = g.target.begin() + g.indptr[j + 1];
  const auto found = std::lower_bound(g.target.begin() + g.indptr[j], end, static_cast<int32_t>(i));
  return found == end || *found != i ? -1 : found - g.target.begin();
}

// Returns how many arcs are symmetric because of some rows: their arcs to larger numbers and the reverses of
// these, and their arcs to themselves; -1 if one of them has no reverse of its weight. While i ascends, the
// reverse of an arc to a row j of the range must be the next unread arc of row j.
inline int64_t count_symmetric(const Csr& g, int64_t begin, int64_t end) {
  std::vector<int64_t> next(end - begin);
  for (int64_t j = begin; j < end; ++j) {
    int64_t& e = next[j - begin];
    for (e = g.indptr[j]; e < g.indptr[j + 1] && g.target[e] < begin;) ++e;
  }
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    int64_t e = g.indptr[i + 1] - 1;
    for (; e >= g.indptr[i] && g.target[e] > i; --e, count += 2) {
      const int64_t j = g.target[e];
      int64_t back = -1;
      if (j >= end) back = reverse_of(g, i, j);
      else if (next[j - begin] < g.indptr[j + 1] && g.target[next[j - begin]] == i) back = next[j - begin]++;
      if (back < 0 || g.w(back) != g.w(e)) return -1;
    }
    count += e >= g.indptr[i] && g.target[e] == i;
  }
  return count;
}

// Returns the index of the first arc whose reverse is missing or has another weight, -1 if the graph is
// symmetric: all arcs to larger numbers have their reverse, and there are no others.
inline int64_t find_asymmetry(const Csr& g, Team& team) {
  expect_graph(g, team);
  constexpr int64_t kRows = 1 << 14;  // Pointers into as many rows fit in caches.
  const bool many = g.n() + g.m() > kItemsPerRange;
  std::atomic<int64_t> count{0};
  std::atomic<bool> missing{false};
  parallel_ranges(g.n(), kRows, many ? team : Team::alone(), [&](int32_t, int64_t begin, int64_t end) {
    if (missing.load(std::memory_order_relaxed)) return;
    const int64_t symmetric = count_symmetric(g, begin, end);
    if (symmetric < 0) missing = true;
    count += symmetric;
  });
  if (!missing && count == g.m()) return -1;
  for (int64_t i = 0; i < g.n(); ++i)
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      const int64_t back = reverse_of(g, i, g.target[e]);
      if (back < 0 || g.w(back) != g.w(e)) return e;
    }
  return -1;
}

}  // namespace hopbytes
