// The loops over all pairs of tasks in which tabu search spends its time (see tabu_changes.hpp).
//
// Rows are padded to whole steps of kStep numbers, so that inner loops have a fixed length and compile to few
// vector instructions for any register width. Results in the padding are never read.
#pragma once
// clang-format takes attributes of lambdas and restricted pointers apart.
// clang-format off
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__GNUC__) && defined(__x86_64__)
#define HOPBYTES_WIDE 1
#define HOPBYTES_ALWAYS_INLINE __attribute__((always_inline))
#else
#define HOPBYTES_WIDE 0
#define HOPBYTES_ALWAYS_INLINE
#endif
#define HOPBYTES_INLINE inline HOPBYTES_ALWAYS_INLINE

namespace hopbytes::tabu_detail {

constexpr int64_t kStep = 16;  // numbers of a step
constexpr int64_t kRows = 4;  // rows processed together, which share what they read of columns

constexpr int64_t kDeferred = 8;  // the largest number of deferred products

// Calls pass(fused), where the constant `fused` says whether it may use fused instructions. A pass is
// compiled a second time for wide registers; the version is chosen at run time. Both give the same numbers,
// because every intermediate result is an integer that its type represents exactly. Passes are never inlined:
// their code is long, and copies of it made most of the compile time.
#if HOPBYTES_WIDE
inline bool wide() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
template <class Pass> __attribute__((noinline)) void run_narrow(const Pass& pass) { pass(std::false_type()); }
template <class Pass> __attribute__((noinline, target("avx2,fma"))) void run_wide(const Pass& pass) {
  pass(std::true_type());
}
template <class Pass> void run_pass(const Pass& pass) { wide() ? run_wide(pass) : run_narrow(pass); }
#else
template <class Pass> void run_pass(const Pass& pass) { pass(std::false_type()); }
#endif

constexpr int64_t padded(int64_t n) { return (n + kStep - 1) / kStep * kStep; }

// Returns c + a b, fused if the processor can. Integers may wrap around where they are never read.
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

// Adds deferred products: cost[i][l] += the sum of x[m][i] y[m][l] over all kDeferred rows m.
template <class T, bool kFused>
HOPBYTES_INLINE void add_products_pass(int64_t n, T* cost, const T* x, const T* y) {
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

template <class T> void add_products(int64_t n, T* cost, const T* x, const T* y) {
  run_pass([=](auto fused) HOPBYTES_ALWAYS_INLINE { add_products_pass<T, fused>(n, cost, x, y); });
}

// sum[j] += factor[m] rows[m][j] for the first `count` rows m, where factor[m] = factors[m * stride].
template <class T, bool kFused>
HOPBYTES_INLINE void add_rows_pass(int64_t stride, T* __restrict__ sum, const T* factors,
                              const T* __restrict__ rows, int64_t count) {
  for (int64_t m = 0; m < count; ++m)
    for (int64_t begin = 0; begin < stride; begin += kStep)
#pragma GCC ivdep
      for (int64_t j = begin; j < begin + kStep; ++j)
        sum[j] = plus_product<kFused>(sum[j], factors[m * stride], rows[m * stride + j]);
}

template <class T>
void add_rows(int64_t stride, T* sum, const T* factors, const T* rows, int64_t count) {
  run_pass([=](auto fused) HOPBYTES_ALWAYS_INLINE {
    add_rows_pass<T, fused>(stride, sum, factors, rows, count);
  });
}

// Processes one step of kRows rows from i on; on the diagonal (kBorder) without the pairs j <= i.
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
HOPBYTES_INLINE T evaluate_pass(int64_t n, T* change, const Factors<T>& by, const T* number, T* least) {
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

// x2 and y2 of `by` are read only if `both`.
template <class T>
T evaluate_pairs(bool both, int64_t n, T* change, const Factors<T>& by, const T* number, T* least) {
  T result;
  if (both)
    run_pass([&](auto fused) HOPBYTES_ALWAYS_INLINE {
      result = evaluate_pass<T, true, fused>(n, change, by, number, least);
    });
  else
    run_pass([&](auto fused) HOPBYTES_ALWAYS_INLINE {
      result = evaluate_pass<T, false, fused>(n, change, by, number, least);
    });
  return result;
}

// The difference of two rows of flows (x), and of two rows of distances by place and, with these, by task
// (y).
template <class T> struct Difference {
  const T *flow_r, *flow_s, *near_r, *near_s;
  T *x, *by_place, *first, *second, *y, *own;
};

template <class T>
void find_difference(int64_t n, const int32_t* place, const Difference<T>& rows) {
  run_pass([=](auto) HOPBYTES_ALWAYS_INLINE {
    const T *flow_r = rows.flow_r, *flow_s = rows.flow_s, *near_r = rows.near_r, *near_s = rows.near_s;
    T *__restrict__ x = rows.x, *__restrict__ by_place = rows.by_place, *__restrict__ y = rows.y;
    T *__restrict__ first = rows.first, *__restrict__ second = rows.second, *__restrict__ own = rows.own;
    const int64_t stride = padded(n);
    for (int64_t j = 0; j < stride; ++j) x[j] = flow_r[j] - flow_s[j], by_place[j] = near_r[j] - near_s[j];
    for (int64_t j = 0; j < n; ++j) {
      const int64_t p = place[j];
      first[j] = near_r[p], second[j] = near_s[p];
    }
    for (int64_t j = 0; j < stride; ++j) {
      y[j] = first[j] - second[j];
      own[j] += x[j] * y[j];
    }
  });
}

// What the change of every exchange with one task is computed from: its costs on all places, the costs of the
// others on its place, of all on their places, flows out of the task and into it, distances from its place
// and to it.
template <class T> struct OneTask {
  const T *costs, *on_its_place, *own, *flow, *flow_back, *near, *near_back;
};

// Two exchanged tasks count as if the other one stayed, each; this term corrects their communication.
template <bool kBoth, class T> HOPBYTES_INLINE T between(T flow, T flow_back, T near, T near_back) {
  if constexpr (kBoth) return (flow + flow_back) * (near + near_back);
  else return T(2) * flow * near;
}

// Computes the change of every exchange with task r, and what the following pass subtracts.
template <bool kBoth, class T>
void evaluate_task(int64_t n, int64_t r, const int32_t* place, const OneTask<T>& task, const Factors<T>& by,
                   T* elsewhere_row, T* fresh_row) {
  run_pass([=](auto) HOPBYTES_ALWAYS_INLINE {
    T *__restrict__ elsewhere = elsewhere_row, *__restrict__ fresh = fresh_row;
    for (int64_t j = 0; j < n; ++j) elsewhere[j] = task.costs[place[j]];
    for (int64_t j = 0; j < padded(n); ++j) {
      T d = elsewhere[j] + task.on_its_place[j] - task.own[r] - task.own[j] +
            between<kBoth>(task.flow[j], task.flow_back[j], task.near[j], task.near_back[j]) +
            (by.x[r] - by.x[j]) * (by.y[r] - by.y[j]);
      if constexpr (kBoth) d += (by.x2[r] - by.x2[j]) * (by.y2[r] - by.y2[j]);
      fresh[j] = d;
    }
  });
}

}  // namespace hopbytes::tabu_detail
