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
#include <vector>

#include "control.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "tabu_passes.hpp"

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

// T is wide enough for every sum (see tabu_search): narrow integers where they do, since more of them fit
// a register; doubles hold larger integers exactly and multiply faster than 64-bit ones.
template <class T, bool kBoth> class Tabu {
 public:
  Tabu(const DenseProblem& problem, std::span<int32_t> place, uint64_t seed, const TabuOptions& options,
       const Control& control)
      : n_(problem.n), problem_(problem), options_(options), control_(control), rng_(seed), best_place_(place),
        place_(place.begin(), place.end()), flow_(read(problem.flow)), near_(read(problem.distance)), cost_(n_ * n_),
        change_(n_ * n_, 0), until_(n_ * n_, 0), left_(n_ * n_), left_by_place_(n_ * n_), numbers_(14 * n_),
        stamps_(2 * n_) {
    T* next = numbers_.data();
    for (T** array : {&x_, &y_, &x2_, &y2_, &along_, &along2_, &own_, &on_first_, &on_second_, &fresh_[0], &fresh_[1],
                      &least_, &any_})
      *array = next, next += n_;
    if (kBoth) flow_in_ = turned(flow_), near_in_ = turned(near_);
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

  // Rows of these hold what goes out of a task or place, and what comes in.
  const T* out(int64_t task) const { return flow_.data() + task * n_; }
  const T* in(int64_t task) const { return (kBoth ? flow_in_ : flow_).data() + task * n_; }
  const T* from(int64_t place) const { return near_.data() + place * n_; }
  const T* to(int64_t place) const { return (kBoth ? near_in_ : near_).data() + place * n_; }

  void set_up() {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t p = 0; p < n_; ++p) {
        // Places never seen count as left long ago, so that aspiration brings them one by one.
        left_[i * n_ + p] = left_by_place_[p * n_ + i] = static_cast<Stamp<T>>(-(n_ * i + p));
        cost_[i * n_ + p] = problem_.unary.empty() ? T(0) : static_cast<T>(problem_.unary[i * n_ + p]);
      }
    for (int64_t k = 0; k < n_; ++k) {
      pass_rows(in(k), to(place_[k]), 0, 0);
      if constexpr (kBoth) pass_rows(out(k), from(place_[k]), 0, 0);
    }
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j) {
        change_[i * n_ + j] = true_change(i, j, cost_[j * n_ + place_[i]]);
        until_[i * n_ + j] = std::min(left_[i * n_ + place_[j]], left_[j * n_ + place_[i]]);
      }
    pass_pairs(nullptr, 0);
  }

  void pass_rows(const T* x, const T* y, int64_t first, int64_t second) {
    const Readings<T> read{place_.data(), first, second, own_, on_first_, on_second_};
#if HOPBYTES_WIDE
    if (wide()) return spread_rows_wide<T>(n_, cost_.data(), x, y, read);
#endif
    spread_rows<T>(n_, cost_.data(), x, y, read);
  }

  void pass_pairs(const Renewed<T>* renewed, int renewals) {
    const auto now = static_cast<Stamp<T>>(now_);
#if HOPBYTES_WIDE
    if (wide())
      return judge_pairs_wide<T, kBoth>(n_, change_.data(), until_.data(), now, x_, y_, x2_, y2_, renewed, renewals,
                                        least_, any_);
#endif
    judge_pairs<T, kBoth>(n_, change_.data(), until_.data(), now, x_, y_, x2_, y2_, renewed, renewals, least_, any_);
  }

  // From what both tasks cost on their own place and on the other's (`cost_back`: j on the place of i);
  // both of these count what the two say to each other as if one stood still.
  T true_change(int64_t i, int64_t j, T cost_back) const {
    T twice = out(i)[j] * from(place_[i])[place_[j]];
    if constexpr (kBoth) twice = (out(i)[j] + in(i)[j]) * (from(place_[i])[place_[j]] + to(place_[i])[place_[j]]);
    else twice += twice;
    return cost_[i * n_ + place_[j]] + cost_back - own_[i] - own_[j] + twice;
  }

  // Changes and tabus of all exchanges with task r, whose place now is that of the costs in `on_its_place`.
  // A pair is tabu while both tasks would return to a place they have left.
  Renewed<T> renew(int64_t r, const T* on_its_place, T* change, Stamp<T>* until) {
    const Stamp<T>* left = left_.data() + r * n_;
    const Stamp<T>* left_here = left_by_place_.data() + place_[r] * n_;
    for (int64_t j = 0; j < n_; ++j) {
      if (j == r) continue;
      T d = true_change(r, j, on_its_place[j]) + (x_[r] - x_[j]) * (y_[r] - y_[j]);
      if constexpr (kBoth) d += (x2_[r] - x2_[j]) * (y2_[r] - y2_[j]);
      change[j] = d;
      until[j] = std::min(left[place_[j]], left_here[j]);
    }
    return {r, change, until};
  }

  // The best exchange that is allowed, or that gives a new best; ties by lot.
  Pair choose(T now_cost, T best) {
    const auto none = std::numeric_limits<T>::max();
    if (options_.aspiration > 0 && now_ % n_ == 0)
      if (const Pair forced = neglected(); forced.i >= 0) return forced;
    const T least = *std::min_element(least_ + 1, least_ + n_);
    const T any = *std::min_element(any_ + 1, any_ + n_);
    if (any < least && now_cost + any < best) return draw(any_, any, false);
    if (least == none) return draw(any_, any, false);
    return draw(least_, least, true);
  }

  Pair draw(const T* column, T value, bool allowed) {
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
    forbid(r);
    forbid(s);
    std::swap(place_[r], place_[s]);
    const int64_t here = place_[r], there = place_[s];
    for (int64_t j = 0; j < n_; ++j) x_[j] = in(r)[j] - in(s)[j], along_[j] = to(here)[j] - to(there)[j];
    for (int64_t j = 0; j < n_; ++j) y_[j] = along_[place_[j]];
    if constexpr (kBoth) {
      for (int64_t j = 0; j < n_; ++j) x2_[j] = out(r)[j] - out(s)[j], along2_[j] = from(here)[j] - from(there)[j];
      for (int64_t j = 0; j < n_; ++j) y2_[j] = along2_[place_[j]];
      pass_rows(x2_, along2_, here, there);
    }
    pass_rows(x_, along_, here, there);
    const Renewed<T> renewed[2] = {renew(r, on_first_, fresh_[0], stamps_.data()),
                                   renew(s, on_second_, fresh_[1], stamps_.data() + n_)};
    pass_pairs(renewed, 2);
  }

  // The task shall not come back to where it is now, for a while.
  void forbid(int64_t task) {
    const auto until = static_cast<Stamp<T>>(now_ + tenure());
    left_[task * n_ + place_[task]] = left_by_place_[place_[task] * n_ + task] = until;
  }

  int64_t n_;
  const DenseProblem& problem_;
  TabuOptions options_;
  const Control& control_;
  Rng rng_;
  std::span<int32_t> best_place_;
  std::vector<int32_t> place_;
  std::vector<T> flow_, flow_in_;   // from task to task; flow_in_ is flow_ turned
  std::vector<T> near_, near_in_;   // from place to place
  std::vector<T> cost_;             // of a task on a place, all others staying
  std::vector<T> change_;           // of exchanging i < j
  std::vector<Stamp<T>> until_;     // pair i < j is tabu while now is not beyond this
  std::vector<Stamp<T>> left_, left_by_place_;  // a task may return to a place beyond this
  std::vector<T> numbers_;          // holds the rows of n that follow
  std::vector<Stamp<T>> stamps_;
  T *x_, *y_, *x2_, *y2_;           // factors by task: how ties and distances of the two that moved differ
  T *along_, *along2_;              // the same as y_ and y2_, by place
  T *own_, *on_first_, *on_second_, *fresh_[2], *least_, *any_;
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
