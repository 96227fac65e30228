// The loops over all pairs of tasks that tabu search spends its time in (see tabu.hpp).
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

// The two loops over all pairs are compiled once more for wide registers and chosen when the program runs.
#if defined(__GNUC__) && defined(__x86_64__)
#define HOPBYTES_WIDE 1
#define HOPBYTES_INLINE inline __attribute__((always_inline))
#else
#define HOPBYTES_WIDE 0
#define HOPBYTES_INLINE inline
#endif

namespace hopbytes::tabu_detail {

template <class T> using Stamp = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// What is read off every row of costs while it is at hand: that of the task's own place, and of the two
// places that changed hands.
template <class T> struct Readings {
  const int32_t* place;
  int64_t first, second;
  T *own, *on_first, *on_second;
};

// cost[i][l] += x[i] y[l]: what every task costs on every place, after two others have changed places.
template <class T>
HOPBYTES_INLINE void spread_rows(int64_t n, T* cost, const T* x, const T* y, const Readings<T>& read) {
  for (int64_t i = 0; i < n; ++i) {
    const T xi = x[i];
    T* row = cost + i * n;
    if (xi != 0)
      for (int64_t l = 0; l < n; ++l) row[l] += xi * y[l];
    read.own[i] = row[read.place[i]];
    read.on_first[i] = row[read.first];
    read.on_second[i] = row[read.second];
  }
}

// Changes and tabus of all pairs with one of the two tasks that moved, to be put in as rows come by.
template <class T> struct Renewed {
  int64_t task;
  const T* change;         // what the pass subtracts is added already
  const Stamp<T>* until;
};

// One row of what follows. The arrays do not overlap, which compilers have to be told.
template <class T, bool kBoth>
HOPBYTES_INLINE void judge_row(int64_t begin, int64_t n, T xi, T yi, T xi2, T yi2, T* __restrict__ row,
                               const Stamp<T>* __restrict__ tabu, Stamp<T> now, const T* __restrict__ x,
                               const T* __restrict__ y, const T* __restrict__ x2, const T* __restrict__ y2,
                               T* __restrict__ least, T* __restrict__ any) {
  constexpr T kMost = std::numeric_limits<T>::max();
#pragma GCC ivdep
  for (int64_t j = begin; j < n; ++j) {
    T d = row[j] - (xi - x[j]) * (yi - y[j]);
    if constexpr (kBoth) d -= (xi2 - x2[j]) * (yi2 - y2[j]);
    row[j] = d;
    const T allowed = tabu[j] < now ? d : kMost;
    const T here = least[j], everywhere = any[j];
    least[j] = allowed < here ? allowed : here;
    any[j] = d < everywhere ? d : everywhere;
  }
}

// change[i][j] -= (x[i] - x[j]) (y[i] - y[j]) for j > i; `least[j]` becomes the smallest change in
// column j of pairs that are not tabu now, `any[j]` that of all pairs.
template <class T, bool kBoth>
HOPBYTES_INLINE void judge_pairs(int64_t n, T* change, Stamp<T>* until, Stamp<T> now, const T* x, const T* y,
                                 const T* x2, const T* y2, const Renewed<T>* renewed, int renewals, T* least,
                                 T* any) {
  constexpr T kMost = std::numeric_limits<T>::max();
  for (int64_t j = 0; j < n; ++j) least[j] = any[j] = kMost;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const T xi = x[i], yi = y[i], xi2 = kBoth ? x2[i] : T(0), yi2 = kBoth ? y2[i] : T(0);
    T* row = change + i * n;
    Stamp<T>* tabu = until + i * n;
    for (int which = 0; which < renewals; ++which) {
      const Renewed<T>& fresh = renewed[which];
      if (i < fresh.task) row[fresh.task] = fresh.change[i], tabu[fresh.task] = fresh.until[i];
      if (i != fresh.task) continue;
      for (int64_t j = i + 1; j < n; ++j) row[j] = fresh.change[j], tabu[j] = fresh.until[j];
    }
    judge_row<T, kBoth>(i + 1, n, xi, yi, xi2, yi2, row, tabu, now, x, y, x2, y2, least, any);
  }
}

#if HOPBYTES_WIDE
template <class T>
__attribute__((target("avx2"))) void spread_rows_wide(int64_t n, T* cost, const T* x, const T* y,
                                                      const Readings<T>& read) {
  spread_rows<T>(n, cost, x, y, read);
}
template <class T, bool kBoth>
__attribute__((target("avx2"))) void judge_pairs_wide(int64_t n, T* change, Stamp<T>* until, Stamp<T> now, const T* x,
                                                      const T* y, const T* x2, const T* y2, const Renewed<T>* renewed,
                                                      int renewals, T* least, T* any) {
  judge_pairs<T, kBoth>(n, change, until, now, x, y, x2, y2, renewed, renewals, least, any);
}
inline bool wide() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

}  // namespace hopbytes::tabu_detail
