// Robust tabu search for dense quadratic assignment: n tasks on n places, one each.
//
// Taillard (1991): of all exchanges of two tasks the best allowed one is made, also when it costs; a task
// does not return to a place it left before its tenure has passed, unless that gives a new best. We differ
// in the bookkeeping. Beside the change of every exchange (Frieze, Yadegar, El-Horbaty 1989: O(1) each
// after an exchange of two other tasks) we keep what every task would cost on every place, so that
// exchanges with the two that moved are O(1) as well; and "until when is this pair tabu" is kept per pair,
// so that one branch-free pass updates and judges all pairs. After `patience` moves without a new best of
// the present climb some random exchanges kick the search on (Benlic, Hao 2013, breakout local search).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "control.hpp"
#include "parallel.hpp"
#include "rng.hpp"

// The two loops over all pairs are compiled once more for wide registers and chosen when the program runs.
#if defined(__GNUC__) && defined(__x86_64__)
#define HOPBYTES_WIDE 1
#define HOPBYTES_INLINE inline __attribute__((always_inline))
#else
#define HOPBYTES_WIDE 0
#define HOPBYTES_INLINE inline
#endif

namespace hopbytes {

// Row-major n x n matrices. The cost of a permutation p is the sum over i, j of flow[i,j] distance[p_i,p_j]
// (over i < j when `symmetric`, flow then holding both directions) plus the sum of unary[i,p_i].
// Diagonals of flow and distance are zero: their products belong to the unary term (empty: none).
struct DenseProblem {
  int64_t n = 0;
  bool symmetric = true;
  std::span<const int64_t> flow, distance, unary;
};

struct TabuOptions {
  int64_t iterations = 0;        // exchanges made, kicks included
  int64_t fruitless = 0;         // exchanges without a new best that end the search; 0: never
  int64_t patience = 0;          // exchanges without a new best of this climb until a kick; 0: none
  int64_t kick_least = 3;        // exchanges of a kick: grows when a climb ends where the last one did
  int64_t kick_most = 3;
  int64_t tenure_low = 90;       // per cent of n
  int64_t tenure_high = 110;
  int64_t aspiration = 0;        // a pair not touched for so long is forced; 0: never
};

namespace tabu_detail {

template <class T> using Stamp = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// cost[i][j] += x[i] y[j]: what every task costs on every place, after two others have changed places.
template <class T> HOPBYTES_INLINE void spread_rows(int64_t n, T* cost, const T* x, const T* y) {
  for (int64_t i = 0; i < n; ++i) {
    const T xi = x[i];
    if (xi == 0) continue;
    T* row = cost + i * n;
    for (int64_t j = 0; j < n; ++j) row[j] += xi * y[j];
  }
}

// change[i][j] -= (x[i] - x[j]) (y[i] - y[j]) for j > i; `least[j]` becomes the smallest change in
// column j of pairs that are not tabu now, `any[j]` that of all pairs.
template <class T, bool kBoth>
HOPBYTES_INLINE void judge_pairs(int64_t n, T* change, const Stamp<T>* until, Stamp<T> now, const T* x, const T* y,
                                 const T* x2, const T* y2, T* least, T* any) {
  constexpr T kMost = std::numeric_limits<T>::max();
  for (int64_t j = 0; j < n; ++j) least[j] = any[j] = kMost;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const T xi = x[i], yi = y[i], xi2 = kBoth ? x2[i] : T(0), yi2 = kBoth ? y2[i] : T(0);
    T* row = change + i * n;
    const Stamp<T>* tabu = until + i * n;
    for (int64_t j = i + 1; j < n; ++j) {
      T d = row[j] - (xi - x[j]) * (yi - y[j]);
      if constexpr (kBoth) d -= (xi2 - x2[j]) * (yi2 - y2[j]);
      row[j] = d;
      const T allowed = tabu[j] < now ? d : kMost;
      least[j] = allowed < least[j] ? allowed : least[j];
      any[j] = d < any[j] ? d : any[j];
    }
  }
}

#if HOPBYTES_WIDE
template <class T> __attribute__((target("avx2"))) void spread_rows_wide(int64_t n, T* cost, const T* x, const T* y) {
  spread_rows<T>(n, cost, x, y);
}
template <class T, bool kBoth>
__attribute__((target("avx2"))) void judge_pairs_wide(int64_t n, T* change, const Stamp<T>* until, Stamp<T> now,
                                                      const T* x, const T* y, const T* x2, const T* y2, T* least,
                                                      T* any) {
  judge_pairs<T, kBoth>(n, change, until, now, x, y, x2, y2, least, any);
}
inline bool wide() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

// T is wide enough for every sum (see tabu_search): narrow integers where they do, since more of them fit
// a register; doubles hold larger integers exactly and multiply faster than 64-bit ones.
template <class T, bool kBoth> class Tabu {
 public:
  Tabu(const DenseProblem& problem, std::span<int32_t> place, uint64_t seed, const TabuOptions& options,
       const Control& control)
      : n_(problem.n), problem_(problem), options_(options), control_(control), rng_(seed), best_place_(place),
        place_(place.begin(), place.end()), flow_(read(problem.flow)), near_(n_ * n_), cost_(n_ * n_),
        change_(n_ * n_, 0), until_(n_ * n_, 0), left_(n_ * n_), x_(n_), y_(n_), least_(n_), any_(n_) {
    if (kBoth) flow_in_ = turned(flow_), near_in_.resize(n_ * n_), x2_.resize(n_), y2_.resize(n_);
    set_up();
  }

  // Returns how much the best permutation found costs more than the first (never more than 0).
  int64_t run(int64_t& done) {
    control_.spend(kToBegin + n_ * arcs_per_pass());
    T now_cost = 0, best = 0, climb_best = 0, last_best = std::numeric_limits<T>::max();
    int64_t since_best = 0, since_climb = 0, kick = options_.kick_least;
    for (done = 0; done < options_.iterations && !control_.hurry();) {
      const Pair move = choose(now_cost, best);
      if (move.i < 0) break;
      // A descent ends at its optimum; a search for new bests goes on.
      if (options_.fruitless == 1 && change_[move.i * n_ + move.j] >= 0) break;
      now_cost += change_[move.i * n_ + move.j];
      exchange(move.i, move.j);
      ++done;
      ++since_best, ++since_climb;
      if (now_cost < climb_best) climb_best = now_cost, since_climb = 0;
      if (now_cost < best) {
        best = now_cost, since_best = 0;
        std::copy(place_.begin(), place_.end(), best_place_.begin());
      }
      if (options_.fruitless > 0 && since_best >= options_.fruitless) break;
      if (options_.patience > 0 && since_climb >= options_.patience) {
        kick = climb_best == last_best ? std::min(kick + 1, options_.kick_most) : options_.kick_least;
        last_best = climb_best;
        for (int64_t k = 0; k < kick; ++k, ++done) now_cost += random_exchange();
        climb_best = now_cost, since_climb = 0;
        if (now_cost < best) {
          best = now_cost, since_best = 0;
          std::copy(place_.begin(), place_.end(), best_place_.begin());
        }
      }
    }
    return static_cast<int64_t>(best);
  }

 private:
  struct Pair { int64_t i = -1, j = -1; };

  // What it costs to begin a search of almost nothing (a call from Python), in arcs.
  static constexpr int64_t kToBegin = 5'000;

  // Eight pairs of a branch-free pass cost about what one arc costs elsewhere.
  int64_t arcs_per_pass() const { return n_ * n_ / 8 + 1; }

  std::vector<T> read(std::span<const int64_t> matrix) const {
    std::vector<T> copy(n_ * n_);
    for (int64_t e = 0; e < n_ * n_; ++e) copy[e] = static_cast<T>(matrix[e]);
    return copy;
  }

  std::vector<T> turned(const std::vector<T>& matrix) const {
    std::vector<T> result(n_ * n_);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) result[j * n_ + i] = matrix[i * n_ + j];
    return result;
  }

  void set_up() {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) {
        near_[i * n_ + j] = static_cast<T>(problem_.distance[place_[i] * n_ + place_[j]]);
        // Places never seen count as left long ago, so that aspiration brings them one by one.
        left_[i * n_ + j] = static_cast<Stamp<T>>(-(n_ * i + j));
        cost_[i * n_ + j] = problem_.unary.empty() ? T(0) : static_cast<T>(problem_.unary[i * n_ + place_[j]]);
      }
    if (kBoth) near_in_ = turned(near_);
    for (int64_t k = 0; k < n_; ++k) {
      for (int64_t i = 0; i < n_; ++i) x_[i] = flow_[i * n_ + k];
      pass_rows(x_.data(), kBoth ? near_in_.data() + k * n_ : near_.data() + k * n_);
      if constexpr (kBoth) pass_rows(flow_.data() + k * n_, near_.data() + k * n_);
    }
    std::fill(x_.begin(), x_.end(), T(0));
    std::fill(y_.begin(), y_.end(), T(0));
    for (int64_t i = 0; i < n_; ++i) {
      renew_changes(i);
      renew_tabu(i);
    }
    pass_pairs();
  }

  void pass_rows(const T* x, const T* y) {
#if HOPBYTES_WIDE
    if (wide()) return spread_rows_wide<T>(n_, cost_.data(), x, y);
#endif
    spread_rows<T>(n_, cost_.data(), x, y);
  }

  void pass_pairs() {
    const auto now = static_cast<Stamp<T>>(now_);
#if HOPBYTES_WIDE
    if (wide())
      return judge_pairs_wide<T, kBoth>(n_, change_.data(), until_.data(), now, x_.data(), y_.data(), x2_.data(),
                                        y2_.data(), least_.data(), any_.data());
#endif
    judge_pairs<T, kBoth>(n_, change_.data(), until_.data(), now, x_.data(), y_.data(), x2_.data(), y2_.data(),
                          least_.data(), any_.data());
  }

  T true_change(int64_t i, int64_t j) const {
    const T* cost = cost_.data();
    T twice = flow_[i * n_ + j] * near_[i * n_ + j];
    if constexpr (kBoth)
      twice = (flow_[i * n_ + j] + flow_in_[i * n_ + j]) * (near_[i * n_ + j] + near_in_[i * n_ + j]);
    else
      twice += twice;
    return cost[i * n_ + j] + cost[j * n_ + i] - cost[i * n_ + i] - cost[j * n_ + j] + twice;
  }

  // Changes of all exchanges with i from scratch; the term that the next pass subtracts is added.
  void renew_changes(int64_t i) {
    for (int64_t j = 0; j < n_; ++j) {
      if (j == i) continue;
      T d = true_change(i, j) + (x_[i] - x_[j]) * (y_[i] - y_[j]);
      if constexpr (kBoth) d += (x2_[i] - x2_[j]) * (y2_[i] - y2_[j]);
      change_[std::min(i, j) * n_ + std::max(i, j)] = d;
    }
  }

  // A pair is tabu while both tasks would return to a place they have left.
  void renew_tabu(int64_t i) {
    for (int64_t j = 0; j < n_; ++j)
      until_[std::min(i, j) * n_ + std::max(i, j)] =
          std::min(left_[i * n_ + place_[j]], left_[j * n_ + place_[i]]);
  }

  // The best exchange that is allowed, or that gives a new best; ties by lot.
  Pair choose(T now_cost, T best) {
    const auto none = std::numeric_limits<T>::max();
    if (options_.aspiration > 0 && now_ % n_ == 0)
      if (const Pair forced = neglected(); forced.i >= 0) return forced;
    const T least = *std::min_element(least_.begin() + 1, least_.end());
    const T any = *std::min_element(any_.begin() + 1, any_.end());
    if (any < least && now_cost + any < best) return draw(any_, any, false);
    if (least == none) return draw(any_, any, false);
    return draw(least_, least, true);
  }

  Pair draw(const std::vector<T>& column, T value, bool allowed) {
    Pair pick;
    uint64_t seen = 0;
    for (int64_t j = 1; j < n_; ++j) {
      if (column[j] != value) continue;
      for (int64_t i = 0; i < j; ++i) {
        if (change_[i * n_ + j] != value || (allowed && until_[i * n_ + j] >= now_)) continue;
        if (++seen == 1 || rng_.below(seen) == 0) pick = {i, j};
      }
    }
    return pick;
  }

  // The best pair that has not been touched for very long.
  Pair neglected() const {
    Pair pick;
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j) {
        if (until_[i * n_ + j] >= now_ - options_.aspiration) continue;
        if (pick.i < 0 || change_[i * n_ + j] < change_[pick.i * n_ + pick.j]) pick = {i, j};
      }
    return pick;
  }

  T random_exchange() {
    const auto i = static_cast<int64_t>(rng_.below(n_));
    auto j = static_cast<int64_t>(rng_.below(n_ - 1));
    if (j >= i) ++j;
    const T d = change_[std::min(i, j) * n_ + std::max(i, j)];
    exchange(i, j);
    return d;
  }

  int64_t tenure() {
    const int64_t low = std::max<int64_t>(1, n_ * options_.tenure_low / 100);
    const int64_t high = std::max(low, n_ * options_.tenure_high / 100);
    return low + static_cast<int64_t>(rng_.below(high - low + 1));
  }

  // Tasks r and s change places; everything is brought up to date, the next move's judgement included.
  void exchange(int64_t r, int64_t s) {
    ++now_;
    control_.spend(arcs_per_pass());
    left_[r * n_ + place_[r]] = static_cast<Stamp<T>>(now_ + tenure());
    left_[s * n_ + place_[s]] = static_cast<Stamp<T>>(now_ + tenure());
    std::swap(place_[r], place_[s]);
    swap_columns(cost_, r, s);
    swap_both(near_, r, s);
    if constexpr (kBoth) {
      swap_both(near_in_, r, s);
      for (int64_t j = 0; j < n_; ++j) {
        x_[j] = flow_in_[r * n_ + j] - flow_in_[s * n_ + j];
        y_[j] = near_in_[r * n_ + j] - near_in_[s * n_ + j];
        x2_[j] = flow_[r * n_ + j] - flow_[s * n_ + j];
        y2_[j] = near_[r * n_ + j] - near_[s * n_ + j];
      }
      pass_rows(x2_.data(), y2_.data());
    } else {
      for (int64_t j = 0; j < n_; ++j) {
        x_[j] = flow_[r * n_ + j] - flow_[s * n_ + j];
        y_[j] = near_[r * n_ + j] - near_[s * n_ + j];
      }
    }
    pass_rows(x_.data(), y_.data());
    renew_changes(r);
    renew_changes(s);
    renew_tabu(r);
    renew_tabu(s);
    pass_pairs();
  }

  void swap_columns(std::vector<T>& matrix, int64_t r, int64_t s) const {
    for (int64_t i = 0; i < n_; ++i) std::swap(matrix[i * n_ + r], matrix[i * n_ + s]);
  }
  void swap_both(std::vector<T>& matrix, int64_t r, int64_t s) const {
    std::swap_ranges(matrix.begin() + r * n_, matrix.begin() + (r + 1) * n_, matrix.begin() + s * n_);
    swap_columns(matrix, r, s);
  }

  int64_t n_;
  const DenseProblem& problem_;
  TabuOptions options_;
  const Control& control_;
  Rng rng_;
  std::span<int32_t> best_place_;
  std::vector<int32_t> place_;
  std::vector<T> flow_, flow_in_;   // by task; flow_in_ is flow_ turned
  std::vector<T> near_, near_in_;   // distances of the places of two tasks
  std::vector<T> cost_;             // of task i on the place of task j, all others staying
  std::vector<T> change_;           // of exchanging i < j
  std::vector<Stamp<T>> until_;     // pair i < j is tabu while now is not beyond this
  std::vector<Stamp<T>> left_;      // task i may return to place p beyond this
  std::vector<T> x_, y_, x2_, y2_, least_, any_;
  int64_t now_ = 0;
};

// An upper bound for every number the search holds, as a double: it only chooses a type.
inline double largest_number(const DenseProblem& problem) {
  double row = 0, furthest = 0, unary = 0, heaviest = 0;
  std::vector<double> in(problem.n, 0);
  for (int64_t i = 0; i < problem.n; ++i) {
    double out = 0;
    for (int64_t j = 0; j < problem.n; ++j) {
      const double w = static_cast<double>(problem.flow[i * problem.n + j]);
      out += w, in[j] += w;
      heaviest = std::max(heaviest, w);
      furthest = std::max(furthest, static_cast<double>(problem.distance[i * problem.n + j]));
    }
    row = std::max(row, out);
  }
  for (double w : in) row = std::max(row, w);
  for (int64_t u : problem.unary) unary = std::max(unary, static_cast<double>(u));
  const double cost = 2 * row * furthest + unary;
  return 4 * cost + 24 * heaviest * furthest;
}

}  // namespace tabu_detail

// Improves `place` (a permutation of 0..n-1). Returns the change of cost, at most 0, and the number of
// exchanges made. All numbers must be >= 0 and 4 times the largest cost of one task below 2^62.
inline int64_t tabu_search(const DenseProblem& problem, std::span<int32_t> place, uint64_t seed,
                           const TabuOptions& options, const Control& control, int64_t& done) {
  using namespace tabu_detail;
  done = 0;
  if (problem.n < 2) return 0;
  const double largest = largest_number(problem);
  auto with = [&](auto type) -> int64_t {
    using T = decltype(type);
    if (problem.symmetric) return Tabu<T, false>(problem, place, seed, options, control).run(done);
    return Tabu<T, true>(problem, place, seed, options, control).run(done);
  };
  const bool few = options.iterations + 4 * problem.n * problem.n < (int64_t{1} << 30);  // stamps of 32 bits
  if (largest < 2147483647.0 && few) return with(int32_t{});
  if (largest < 4503599627370496.0) return with(double{});
  return with(int64_t{});
}

// The same from several permutations (one per row of `place`), side by side.
inline void tabu_many(const DenseProblem& problem, std::span<int32_t> place, std::span<const uint64_t> seed,
                      const TabuOptions& options, const Control& control, int32_t threads, std::span<int64_t> change,
                      std::span<int64_t> done) {
  parallel_for(static_cast<int64_t>(seed.size()), threads, [&](int64_t i) {
    change[i] = tabu_search(problem, place.subspan(i * problem.n, problem.n), seed[i], options, control, done[i]);
  });
}

}  // namespace hopbytes
