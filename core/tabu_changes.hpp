// What every exchange of two tasks would change of a dense quadratic assignment, kept up to date under
// exchanges, with those that are tabu out of the way.
//
// Beside the change of every exchange (Frieze, Yadegar, El-Horbaty 1989: O(1) each after an exchange of two
// other tasks) we keep what every task would cost on every place, so that exchanges with the two that moved
// are O(1) as well. Tabu pairs are few: they stand in a list, and in the matrix their change is raised by
// more than any change, so that one pass updates and judges all pairs without asking which are allowed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

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

namespace tabu_detail {

// Integers up to this are exact in T with room for what is said below.
template <class T> constexpr int kDigits = std::numeric_limits<T>::digits;
// What the change of a tabu pair is raised by. Changes must stay below half of it: then raised ones lie
// above all others, and below 3/2 of it, which T still holds exactly.
template <class T> constexpr T kRaise = static_cast<T>(int64_t{1} << (kDigits<T> - 1));

template <class T> double fits() { return static_cast<double>(kRaise<T> / 2); }

struct Pair { int64_t i = -1, j = -1; };

// T is wide enough for every number (see `largest_number`).
template <class T, bool kBoth> class Changes {
 public:
  Changes(const DenseProblem& problem, std::span<const int32_t> place)
      : n_(problem.n), stride_(padded(n_)), place_(place.begin(), place.end()), flow_(read(problem.flow)),
        near_(read(problem.distance)), cost_(n_ * stride_), change_((n_ + kRows) * stride_, 0), left_(n_ * n_),
        left_by_place_(n_ * n_), numbers_(20 * stride_, 0) {
    T* next = numbers_.data();
    for (T** array : {&x_, &y_, &x2_, &y2_, &along_, &along2_, &own_, &on_first_, &on_second_, &least_, &number_,
                      &near_first_, &near_second_, &near_first2_, &near_second2_, &own_row_})
      *array = next, next += stride_;
    for (int64_t j = 0; j < stride_; ++j) number_[j] = static_cast<T>(j);
    if (kBoth) flow_in_ = turned(flow_), near_in_ = turned(near_);
    set_up(problem.unary);
  }

  const std::vector<int32_t>& place() const { return place_; }

  // What exchanging i < j would change, tabu or not.
  int64_t change(int64_t i, int64_t j) const {
    const T d = change_[i * stride_ + j];
    return static_cast<int64_t>(d > kRaise<T> / 2 ? d - kRaise<T> : d);
  }

  // Tasks r and s change places at time `now`, and neither returns to the place it leaves until the times given.
  void exchange(int64_t r, int64_t s, int64_t now, int64_t until_r, int64_t until_s) {
    forbid(r, until_r);
    forbid(s, until_s);
    std::swap(place_[r], place_[s]);
    const int64_t here = place_[r], there = place_[s];
    differ(in(r), in(s), to(here), to(there), x_, y_, along_, near_first_, near_second_);
    if constexpr (kBoth)
      differ(out(r), out(s), from(here), from(there), x2_, y2_, along2_, near_first2_, near_second2_);
    pass_rows(here, there);
    release(r, s, now);
    renew(r, -1, now, near_first_, near_first2_, on_first_);
    renew(s, r, now, near_second_, near_second2_, on_second_);
    pass_pairs();
  }

  // The smallest change of pairs that are not tabu; false: all are.
  bool least_allowed(int64_t& change) const {
    const T least = *std::min_element(least_ + 1, least_ + n_);
    change = static_cast<int64_t>(least);
    return least < kRaise<T> / 2;
  }

  // The smallest change of pairs that are tabu; false: none is.
  bool least_tabu(int64_t& change) const {
    T least = std::numeric_limits<T>::max();
    for (const Tabu& pair : tabu_) least = std::min(least, change_[pair.i * stride_ + pair.j]);
    if (!tabu_.empty()) change = static_cast<int64_t>(least - kRaise<T>);
    return !tabu_.empty();
  }

  // Calls visit(i, j) for the allowed pairs of this change, columns first.
  template <class Visit> void allowed_pairs(int64_t change, Visit visit) const {
    const T value = static_cast<T>(change);
    for (int64_t j = 1; j < n_; ++j) {
      if (least_[j] != value) continue;
      for (int64_t i = 0; i < j; ++i)
        if (change_[i * stride_ + j] == value) visit(i, j);
    }
  }

  // The same for pairs that are tabu.
  template <class Visit> void tabu_pairs(int64_t change, Visit visit) const {
    const T value = static_cast<T>(change) + kRaise<T>;
    std::vector<Tabu> equal;
    for (const Tabu& pair : tabu_)
      if (change_[pair.i * stride_ + pair.j] == value) equal.push_back(pair);
    std::sort(equal.begin(), equal.end(), [](const Tabu& a, const Tabu& b) { return a.j != b.j ? a.j < b.j : a.i < b.i; });
    for (const Tabu& pair : equal) visit(pair.i, pair.j);
  }

  // The best pair that was last touched before `then`, which is before any pair that is tabu.
  Pair neglected(int64_t then) const {
    Pair pick;
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j) {
        if (until(i, j) >= then) continue;
        if (pick.i < 0 || change_[i * stride_ + j] < change_[pick.i * stride_ + pick.j]) pick = {i, j};
      }
    return pick;
  }

 private:
  struct Tabu { int32_t i, j; int64_t until; };

  std::vector<T> read(std::span<const int64_t> matrix) const {
    std::vector<T> copy(n_ * stride_, 0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) copy[i * stride_ + j] = static_cast<T>(matrix[i * n_ + j]);
    return copy;
  }

  std::vector<T> turned(const std::vector<T>& matrix) const {
    std::vector<T> result(n_ * stride_, 0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) result[j * stride_ + i] = matrix[i * stride_ + j];
    return result;
  }

  // Rows of these hold what goes out of a task or place, and what comes in.
  const T* out(int64_t task) const { return flow_.data() + task * stride_; }
  const T* in(int64_t task) const { return (kBoth ? flow_in_ : flow_).data() + task * stride_; }
  const T* from(int64_t place) const { return near_.data() + place * stride_; }
  const T* to(int64_t place) const { return (kBoth ? near_in_ : near_).data() + place * stride_; }

  void set_up(std::span<const int64_t> unary) {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t p = 0; p < n_; ++p) {
        // Places never seen count as left long ago, so that aspiration brings them one by one.
        left_[i * n_ + p] = left_by_place_[p * n_ + i] = -(n_ * i + p);
        cost_[i * stride_ + p] = unary.empty() ? T(0) : static_cast<T>(unary[i * n_ + p]);
      }
    for (int64_t k = 0; k < n_; ++k) {
      std::copy_n(in(k), stride_, x_);
      std::copy_n(to(place_[k]), stride_, along_);
      if constexpr (kBoth) {
        std::copy_n(out(k), stride_, x2_);
        std::copy_n(from(place_[k]), stride_, along2_);
      }
      pass_rows(0, 0);
    }
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j)
        change_[i * stride_ + j] = cost_[i * stride_ + place_[j]] + cost_[j * stride_ + place_[i]] - own_[i] - own_[j] +
                                   between(flow_[i * stride_ + j], in(i)[j], from(place_[i])[place_[j]],
                                           to(place_[i])[place_[j]]);
    std::fill_n(x_, stride_, T(0)), std::fill_n(x2_, stride_, T(0));
    pass_pairs();
  }

  // What two tasks say to each other counts in the costs of both as if one stood still; this makes up for it.
  static T between(T flow, T flow_back, T near, T near_back) {
    if constexpr (kBoth) return (flow + flow_back) * (near + near_back);
    else return T(2) * flow * near;
  }

  // How two tasks that have changed places differ: in flows by task (x), in distances by task (y) and by place.
  void differ(const T* flow_r, const T* flow_s, const T* near_r, const T* near_s, T* __restrict__ x, T* __restrict__ y,
              T* __restrict__ by_place, T* __restrict__ first, T* __restrict__ second) const {
    for (int64_t j = 0; j < stride_; ++j) x[j] = flow_r[j] - flow_s[j], by_place[j] = near_r[j] - near_s[j];
    for (int64_t j = 0; j < n_; ++j) {
      const int64_t p = place_[j];
      first[j] = near_r[p], second[j] = near_s[p];
    }
    for (int64_t j = 0; j < stride_; ++j) y[j] = first[j] - second[j];
  }

  void pass_rows(int64_t first, int64_t second) {
    const Readings<T> read{place_.data(), first, second, own_, on_first_, on_second_};
    const Factors<T> by{x_, along_, x2_, along2_};
#if HOPBYTES_WIDE
    if (wide()) return spread_rows_wide<T, kBoth>(n_, cost_.data(), by, read);
#endif
    spread_rows<T, kBoth, false>(n_, cost_.data(), by, read);
  }

  void pass_pairs() {
    const Factors<T> by{x_, y_, x2_, y2_};
#if HOPBYTES_WIDE
    if (wide()) return judge_pairs_wide<T, kBoth>(n_, change_.data(), by, number_, least_);
#endif
    judge_pairs<T, kBoth, false>(n_, change_.data(), by, number_, least_);
  }

  // Changes of all exchanges with task r, whose place is that of the distances `near` and of the costs
  // `on_its_place`; what the pass to come subtracts is added already. A pair is tabu while both tasks would
  // return to a place they have left; that with `listed` is in the list by now.
  void renew(int64_t r, int64_t listed, int64_t now, const T* near, const T* near_back, const T* on_its_place) {
    const T *row = cost_.data() + r * stride_, *flow = out(r), *flow_back = in(r);
    for (int64_t j = 0; j < n_; ++j) own_row_[j] = row[place_[j]];
    T* __restrict__ fresh = change_.data() + r * stride_;
    for (int64_t j = 0; j < stride_; ++j) {
      T d = own_row_[j] + on_its_place[j] - own_[r] - own_[j] +
            between(flow[j], flow_back[j], near[j], near_back[j]) + (x_[r] - x_[j]) * (y_[r] - y_[j]);
      if constexpr (kBoth) d += (x2_[r] - x2_[j]) * (y2_[r] - y2_[j]);
      fresh[j] = d;
    }
    const int64_t* left_here = left_by_place_.data() + place_[r] * n_;
    for (int64_t j = 0; j < n_; ++j) {
      if (left_here[j] < now || j == r) continue;
      const int64_t until = std::min(left_here[j], left_[r * n_ + place_[j]]);
      if (until < now) continue;
      fresh[j] += kRaise<T>;
      if (j == listed) continue;
      tabu_.push_back({static_cast<int32_t>(std::min(r, j)), static_cast<int32_t>(std::max(r, j)), until});
    }
    for (int64_t i = 0; i < r; ++i) change_[i * stride_ + r] = fresh[i];
  }

  // Takes pairs off the list that are no longer tabu, and those that are judged anew.
  void release(int64_t r, int64_t s, int64_t now) {
    std::erase_if(tabu_, [&](const Tabu& pair) {
      if (pair.i == r || pair.i == s || pair.j == r || pair.j == s) return true;
      if (pair.until >= now) return false;
      change_[pair.i * stride_ + pair.j] -= kRaise<T>;
      return true;
    });
  }

  int64_t until(int64_t i, int64_t j) const { return std::min(left_[i * n_ + place_[j]], left_[j * n_ + place_[i]]); }

  // The task shall not come back to where it is now, for a while.
  void forbid(int64_t task, int64_t until) {
    left_[task * n_ + place_[task]] = left_by_place_[place_[task] * n_ + task] = until;
  }

  int64_t n_, stride_;
  std::vector<int32_t> place_;
  std::vector<T> flow_, flow_in_;   // from task to task; flow_in_ is flow_ turned
  std::vector<T> near_, near_in_;   // from place to place
  std::vector<T> cost_;             // of a task on a place, all others staying
  std::vector<T> change_;           // of exchanging i < j, raised where that is tabu
  std::vector<int64_t> left_, left_by_place_;  // a task may return to a place beyond this
  std::vector<Tabu> tabu_;
  std::vector<T> numbers_;          // holds the rows that follow
  T *x_, *y_, *x2_, *y2_;           // factors by task: how ties and distances of the two that moved differ
  T *along_, *along2_;              // the same as y_ and y2_, by place
  T *near_first_, *near_second_, *near_first2_, *near_second2_;  // distances of their places, by task
  T *own_, *on_first_, *on_second_, *own_row_, *least_, *number_;
};

// An upper bound for every number the search holds, as a double: it only chooses a type. A task costs between
// 0 and `cost`, an exchange changes what two tasks pay, and updates pass products of differences.
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
  const double cost = (problem.symmetric ? 1 : 2) * row * furthest + unary;
  const double products = (problem.symmetric ? 4 : 8) * heaviest * furthest;
  return std::max({2 * cost + products, heaviest, furthest});
}

}  // namespace tabu_detail
}  // namespace hopbytes
