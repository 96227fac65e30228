// A symmetric graph under change: the weight of a pair is set in time proportional to the smaller degree.
#pragma once
#include <bit>

#include "graph/csr.hpp"
#include "util/assert.hpp"

namespace hopbytes {

// Row u holds `count[u]` arcs from `start[u]` on, in no order, with space for `space[u]` (0, or a power of
// two of at least 4). opposite[a] is the position of the opposite arc within its row, so an arc that is
// known in one row need not be searched in the other. Rows that have left their space chain it up by size
// for other rows.
struct ArcRows {
  // Entries of `pool`; from kFree on one per size.
  static constexpr int64_t kUsed = 0, kScanned = 1, kFree = 2;
  static constexpr int64_t kSizes = 29;  // 4 .. 2^30
  static constexpr int32_t kLeast = 4;

  Out<int64_t> start;
  Out<int32_t> count, space;
  Out<int32_t> target, opposite;
  Out<int64_t> weight, pool;

  // Returns the arc from u to v, -1 if there is none.
  int64_t find(int32_t u, int32_t v) const {
    const bool swap = count[v] < count[u];
    const int32_t from = swap ? v : u, to = swap ? u : v;
    for (int64_t a = start[from], end = a + count[from]; a < end; ++a) {
      ++pool[kScanned];
      if (target[a] == to) return swap ? start[u] + opposite[a] : a;
    }
    return -1;
  }

  // Sets the weight of the pair {u, v}, 0 removes it, and `old`. Returns false, without a change, if the
  // arrays are full.
  bool set(int32_t u, int32_t v, int64_t w, int64_t& old) const {
    const int64_t a = find(u, v);
    old = a < 0 ? 0 : weight[a];
    HOPBYTES_CHECK(a < 0 || target[start[v] + opposite[a]] == u);  // each arc knows its opposite
    if (a >= 0 && w > 0) {
      weight[a] = weight[start[v] + opposite[a]] = w;
    } else if (a >= 0) {
      const int64_t b = start[v] + opposite[a];
      erase(u, a), erase(v, b);
    } else if (w > 0) {
      if (!widen(u) || !widen(v)) return false;
      const int64_t x = start[u] + count[u], y = start[v] + count[v];
      target[x] = v, target[y] = u;
      weight[x] = weight[y] = w;
      opposite[x] = count[v]++, opposite[y] = count[u]++;
    }
    return true;
  }

 private:
  // Fills the place of an arc with the last one of its row.
  void erase(int32_t u, int64_t a) const {
    const int64_t last = start[u] + --count[u];
    if (a == last) return;
    target[a] = target[last], weight[a] = weight[last], opposite[a] = opposite[last];
    opposite[start[target[a]] + opposite[a]] = static_cast<int32_t>(a - start[u]);
  }

  static int64_t size_class(int32_t space) {
    return std::bit_width(static_cast<uint32_t>(space - 1) / kLeast);
  }

  // Makes space for one more arc of u.
  bool widen(int32_t u) const {
    if (count[u] < space[u]) return true;
    const int64_t c = space[u] == 0 ? 0 : size_class(space[u]) + 1;
    if (c >= kSizes) throw std::length_error("a task with more than 2^30 neighbours");
    const int64_t wanted = int64_t{kLeast} << c;
    int64_t place = pool[kFree + c];
    if (place >= 0) {
      pool[kFree + c] = weight[place];
    } else if (pool[kUsed] + wanted <= static_cast<int64_t>(target.size())) {
      place = pool[kUsed];
      pool[kUsed] += wanted;
    } else {
      return false;
    }
    for (int64_t i = 0; i < count[u]; ++i) {
      const int64_t a = start[u] + i;
      target[place + i] = target[a], opposite[place + i] = opposite[a], weight[place + i] = weight[a];
    }
    pool[kScanned] += count[u];
    if (space[u] > 0) {
      weight[start[u]] = pool[kFree + c - 1];
      pool[kFree + c - 1] = start[u];
    }
    start[u] = place;
    space[u] = static_cast<int32_t>(wanted);
    return true;
  }
};

// Sets the weights of pairs from `begin` on and writes the weights before; returns the first pair for which
// the arrays are too small, the number of pairs if all were set.
inline int64_t set_pairs(const ArcRows& rows, In<int32_t> u, In<int32_t> v, In<int64_t> w, Out<int64_t> old,
                         int64_t begin) {
  const auto pairs = static_cast<int64_t>(u.size());
  for (int64_t i = begin; i < pairs; ++i)
    if (!rows.set(u[i], v[i], w[i], old[i])) return i;
  return pairs;
}

}  // namespace hopbytes
