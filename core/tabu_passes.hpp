// The loops over all pairs of tasks in which tabu search spends its time (see tabu_changes.hpp).
//
// Rows are padded to whole steps of kStep numbers, so that inner loops have a fixed length and compile to few
// vector instructions for any register width. Results in the padding are never read.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

// The loops are compiled a second time for wide registers; the version is chosen at run time. Both give the
// same numbers, because every intermediate result is an integer that its type represents exactly.
#if defined(__GNUC__) && defined(__x86_64__)
#define HOPBYTES_WIDE 1
#define HOPBYTES_INLINE inline __attribute__((always_inline))
#else
#define HOPBYTES_WIDE 0
#define HOPBYTES_INLINE inline
#endif

namespace hopbytes::tabu_detail {

constexpr int64_t kStep = 16;  // numbers of a step
constexpr int64_t kRows = 4;  // rows processed together, which share what they read of columns

constexpr int64_t kDeferred = 8;  // the largest number of deferred products

constexpr int64_t padded(int64_t n) { return (n + kStep - 1) / kStep * kStep; }

// Returns c + a b, in one instruction if the processor has one (kFused). Integers may wrap around in the
// padding and below the diagonal, which are never read.
template <bool kFused, class T> HOPBYTES_INLINE T plus_product(T c, T a, T b) {
  if constexpr (kFused && std::is_same_v<T, float>) return __builtin_fmaf(a, b, c);
  else if constexpr (kFused && std::is_same_v<T, double>) return __builtin_fma(a, b, c);
  else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(c) + static_cast<U>(a) * static_cast<U>(b));
  } else return c + a * b;
}

// Differences between two tasks that exchanged their places: of flows (x, by task) and of distances (y). x2
// and y2 are those of the opposite direction for asymmetric problems.
template <class T> struct Factors {
  const T *x, *y, *x2, *y2;
};

// Adds deferred products: cost[i][l] += the sum of x[m][i] y[m][l] over all kDeferred rows m. Many products
// are added at once, because the costs are then read and written only once.
template <class T, bool kFused>
HOPBYTES_INLINE void add_products(int64_t n, T* cost, const T* x, const T* y) {
  const int64_t stride = padded(n);
  for (int64_t i = 0; i < n; ++i) {
    T* __restrict__ row = cost + i * stride;
    T xi[kDeferred];
    bool some = false;
    for (int64_t m = 0; m < kDeferred; ++m) xi[m] = x[m * stride + i], some |= xi[m] != 0;
    for (int64_t begin = 0; some && begin < stride; begin += kStep)
#pragma GCC ivdep
      for (int64_t l = begin; l < begin + kStep; ++l) {
        T c = row[l];
        for (int64_t m = 0; m < kDeferred; ++m) c = plus_product<kFused>(c, xi[m], y[m * stride + l]);
        row[l] = c;
      }
  }
}

// sum[j] += factor[m] rows[m][j] for the first `count` rows m, where factor[m] = factors[m * stride].
template <class T, bool kFused>
HOPBYTES_INLINE void add_rows(int64_t stride, T* __restrict__ sum, const T* factors,
                              const T* __restrict__ rows, int64_t count) {
  for (int64_t m = 0; m < count; ++m)
    for (int64_t begin = 0; begin < stride; begin += kStep)
#pragma GCC ivdep
      for (int64_t j = begin; j < begin + kStep; ++j)
        sum[j] = plus_product<kFused>(sum[j], factors[m * stride], rows[m * stride + j]);
}

// Processes one step of kRows rows from i on. On the diagonal (kBorder) the pairs j <= i are excluded from
// the minimum.
template <class T, bool kBoth, bool kFused, bool kBorder>
HOPBYTES_INLINE void evaluate_step(int64_t stride, T* change, int64_t i, int64_t begin, const Factors<T>& by,
                                const T* __restrict__ number, T* __restrict__ least) {
  const T *__restrict__ x = by.x, *__restrict__ y = by.y, *__restrict__ x2 = by.x2, *__restrict__ y2 = by.y2;
  T* __restrict__ rows[kRows];
  T xi[kRows], yi[kRows], xi2[kRows], yi2[kRows];
  for (int64_t k = 0; k < kRows; ++k) {
    rows[k] = change + (i + k) * stride;
    xi[k] = x[i + k], yi[k] = y[i + k];
    if constexpr (kBoth) xi2[k] = x2[i + k], yi2[k] = y2[i + k];
  }
#pragma GCC ivdep
  for (int64_t j = begin; j < begin + kStep; ++j) {
    const T xj = x[j], yj = y[j], xj2 = kBoth ? x2[j] : T(0), yj2 = kBoth ? y2[j] : T(0);
    T fewest = least[j];
    for (int64_t k = 0; k < kRows; ++k) {
      T d = plus_product<kFused>(rows[k][j], xi[k] - xj, yj - yi[k]);
      if constexpr (kBoth) d = plus_product<kFused>(d, xi2[k] - xj2, yj2 - yi2[k]);
      rows[k][j] = d;
      if constexpr (kBorder) d = number[j] > number[i + k] ? d : std::numeric_limits<T>::max();
      fewest = d < fewest ? d : fewest;
    }
    least[j] = fewest;
  }
}

// change[i][j] -= (x[i] - x[j]) (y[i] - y[j]) for j > i (y by task). `least[j]` becomes the smallest change
// in column j, and the smallest change of all is returned. `number` holds 0, 1, 2, ...; there are rows up to
// the next multiple of kRows.
template <class T, bool kBoth, bool kFused>
HOPBYTES_INLINE T evaluate_pairs(int64_t n, T* change, const Factors<T>& by, const T* number, T* least) {
  static_assert(kStep % kRows == 0);  // so that the diagonal of kRows rows is in one step
  constexpr T kMost = std::numeric_limits<T>::max();
  const int64_t stride = padded(n);
  for (int64_t j = 0; j < stride; ++j) least[j] = kMost;
  for (int64_t i = 0; i + 1 < n; i += kRows) {
    int64_t j = i / kStep * kStep;
    evaluate_step<T, kBoth, kFused, true>(stride, change, i, j, by, number, least);
    while ((j += kStep) < stride)
      evaluate_step<T, kBoth, kFused, false>(stride, change, i, j, by, number, least);
  }
  for (int64_t j = n; j < stride; ++j) least[j] = kMost;
  T lanes[kStep];
  std::copy_n(least, kStep, lanes);
  for (int64_t j = kStep; j < stride; j += kStep)
    for (int64_t k = 0; k < kStep; ++k) lanes[k] = least[j + k] < lanes[k] ? least[j + k] : lanes[k];
  return *std::min_element(lanes, lanes + kStep);
}

#if HOPBYTES_WIDE
#define HOPBYTES_FOR_WIDE __attribute__((target("avx2,fma")))
inline bool wide() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

}  // namespace hopbytes::tabu_detail
