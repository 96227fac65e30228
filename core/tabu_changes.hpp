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
#include <new>
#include <span>
#include <utility>
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

// Rows begin where cache lines do, so that no step of a pass lies across two more than it must.
template <class T> struct Lines {
  using value_type = T;
  Lines() = default;
  template <class U> Lines(const Lines<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* array, std::size_t) { ::operator delete(array, kLine); }
  bool operator==(const Lines&) const { return true; }
  static constexpr std::align_val_t kLine{64};
};
template <class T> using Numbers = std::vector<T, Lines<T>>;

struct Pair { int64_t i = -1, j = -1; };

// T is wide enough for every number (see `largest_number`).
template <class T, bool kBoth> class Changes {
 public:
  Changes(const DenseProblem& problem, std::span<const int32_t> place)
      : n_(problem.n), stride_(padded(n_)), place_(place.begin(), place.end()), flow_(read(problem.flow)),
        near_(read(problem.distance)), cost_((n_ + kRows) * stride_, 0), change_((n_ + kRows) * stride_, 0), left_(n_ * n_),
        gone_(n_), numbers_(20 * stride_, 0) {
    T* next = numbers_.data();
    for (T** array : {&x_, &y_, &x2_, &y2_, &along_, &along2_, &own_, &on_first_, &on_second_, &least_, &number_,
                      &near_first_, &near_second_, &near_first2_, &near_second2_, &own_row_})
      *array = next, next += stride_;
    for (int64_t j = 0; j < stride_; ++j) number_[j] = static_cast<T>(j);
    if (kBoth) flow_in_ = turned(flow_), near_in_ = turned(near_);
    begin(problem.unary);
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
    release(r, s, now);
#if HOPBYTES_WIDE
    if (wide()) return update_wide(r, s, now);
#endif
    update<false>(r, s, now);
  }

  // The smallest change of pairs that are not tabu; false: all are.
  bool least_allowed(int64_t& change) const {
    change = static_cast<int64_t>(least_of_all_);
    return least_of_all_ < kRaise<T> / 2;
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

  Numbers<T> read(std::span<const int64_t> matrix) const {
    Numbers<T> copy(n_ * stride_, 0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) copy[i * stride_ + j] = static_cast<T>(matrix[i * n_ + j]);
    return copy;
  }

  Numbers<T> turned(const Numbers<T>& matrix) const {
    Numbers<T> result(n_ * stride_, 0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) result[j * stride_ + i] = matrix[i * stride_ + j];
    return result;
  }

  // Rows of these hold what goes out of a task or place, and what comes in.
  const T* out(int64_t task) const { return flow_.data() + task * stride_; }
  const T* in(int64_t task) const { return (kBoth ? flow_in_ : flow_).data() + task * stride_; }
  const T* from(int64_t place) const { return near_.data() + place * stride_; }
  const T* to(int64_t place) const { return (kBoth ? near_in_ : near_).data() + place * stride_; }

  void begin(std::span<const int64_t> unary) {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t p = 0; p < n_; ++p) {
        // Places never seen count as left long ago, so that aspiration brings them one by one.
        left_[i * n_ + p] = -(n_ * i + p);
        cost_[i * stride_ + p] = unary.empty() ? T(0) : static_cast<T>(unary[i * n_ + p]);
      }
#if HOPBYTES_WIDE
    if (wide()) return set_up_wide();
#endif
    set_up<false>();
  }

  template <bool kFused> HOPBYTES_INLINE void set_up() {
    for (int64_t k = 0; k < n_; ++k) {
      std::copy_n(in(k), stride_, x_);
      std::copy_n(to(place_[k]), stride_, along_);
      if constexpr (kBoth) {
        std::copy_n(out(k), stride_, x2_);
        std::copy_n(from(place_[k]), stride_, along2_);
      }
      pass_rows<kFused>(0, 0);
    }
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j)
        change_[i * stride_ + j] = cost_[i * stride_ + place_[j]] + cost_[j * stride_ + place_[i]] - own_[i] - own_[j] +
                                   between(flow_[i * stride_ + j], in(i)[j], from(place_[i])[place_[j]],
                                           to(place_[i])[place_[j]]);
    std::fill_n(x_, stride_, T(0)), std::fill_n(x2_, stride_, T(0));
    pass_pairs<kFused>();
  }

  // What two tasks say to each other counts in the costs of both as if one stood still; this makes up for it.
  static HOPBYTES_INLINE T between(T flow, T flow_back, T near, T near_back) {
    if constexpr (kBoth) return (flow + flow_back) * (near + near_back);
    else return T(2) * flow * near;
  }

  // How two tasks that have changed places differ: in flows by task (x), in distances by task (y) and by place.
  HOPBYTES_INLINE void differ(const T* flow_r, const T* flow_s, const T* near_r, const T* near_s, T* __restrict__ x, T* __restrict__ y,
              T* __restrict__ by_place, T* __restrict__ first, T* __restrict__ second) const {
    for (int64_t j = 0; j < stride_; ++j) x[j] = flow_r[j] - flow_s[j], by_place[j] = near_r[j] - near_s[j];
    for (int64_t j = 0; j < n_; ++j) {
      const int64_t p = place_[j];
      first[j] = near_r[p], second[j] = near_s[p];
    }
    for (int64_t j = 0; j < stride_; ++j) y[j] = first[j] - second[j];
  }

  // Brings all up to date after r and s have changed places.
  template <bool kFused> HOPBYTES_INLINE void update(int64_t r, int64_t s, int64_t now) {
    const int64_t here = place_[r], there = place_[s];
    differ(in(r), in(s), to(here), to(there), x_, y_, along_, near_first_, near_second_);
    if constexpr (kBoth)
      differ(out(r), out(s), from(here), from(there), x2_, y2_, along2_, near_first2_, near_second2_);
    pass_rows<kFused>(here, there);
    renew(r, -1, now, near_first_, near_first2_, on_first_);
    renew(s, r, now, near_second_, near_second2_, on_second_);
    pass_pairs<kFused>();
  }

  template <bool kFused> HOPBYTES_INLINE void pass_rows(int64_t first, int64_t second) {
    spread_rows<T, kBoth, kFused>(n_, cost_.data(), {x_, along_, x2_, along2_},
                                  {place_.data(), first, second, own_, on_first_, on_second_});
  }

  template <bool kFused> HOPBYTES_INLINE void pass_pairs() {
    least_of_all_ = judge_pairs<T, kBoth, kFused>(n_, change_.data(), {x_, y_, x2_, y2_}, number_, least_);
  }

#if HOPBYTES_WIDE
  HOPBYTES_FOR_WIDE void update_wide(int64_t r, int64_t s, int64_t now) { update<true>(r, s, now); }
  HOPBYTES_FOR_WIDE void set_up_wide() { set_up<true>(); }
#endif

  // Changes of all exchanges with task r, whose place is that of the distances `near` and of the costs
  // `on_its_place`; what the pass to come subtracts is added already. A pair is tabu while both tasks would
  // return to a place they have left; that with `listed` is in the list by now.
  HOPBYTES_INLINE void renew(int64_t r, int64_t listed, int64_t now, const T* near, const T* near_back, const T* on_its_place) {
    const T *row = cost_.data() + r * stride_, *flow = out(r), *flow_back = in(r);
    for (int64_t j = 0; j < n_; ++j) own_row_[j] = row[place_[j]];
    T* __restrict__ fresh = change_.data() + r * stride_;
    for (int64_t j = 0; j < stride_; ++j) {
      T d = own_row_[j] + on_its_place[j] - own_[r] - own_[j] +
            between(flow[j], flow_back[j], near[j], near_back[j]) + (x_[r] - x_[j]) * (y_[r] - y_[j]);
      if constexpr (kBoth) d += (x2_[r] - x2_[j]) * (y2_[r] - y2_[j]);
      fresh[j] = d;
    }
    // Few tasks still have to stay away from here.
    std::erase_if(gone_[place_[r]], [&](int32_t j) {
      const int64_t until_here = left_[j * n_ + place_[r]];
      if (until_here < now || j == r) return true;  // the task itself is entered anew when it leaves
      const int64_t until = std::min(until_here, left_[r * n_ + place_[j]]);
      if (until < now) return false;
      fresh[j] += kRaise<T>;
      if (j != listed) tabu_.push_back({std::min<int32_t>(r, j), std::max<int32_t>(r, j), until});
      return false;
    });
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
    const int32_t here = place_[task];
    left_[task * n_ + here] = until;
    gone_[here].push_back(static_cast<int32_t>(task));
  }

  int64_t n_, stride_;
  std::vector<int32_t> place_;
  Numbers<T> flow_, flow_in_;   // from task to task; flow_in_ is flow_ turned
  Numbers<T> near_, near_in_;   // from place to place
  Numbers<T> cost_;             // of a task on a place, all others staying
  Numbers<T> change_;           // of exchanging i < j, raised where that is tabu
  std::vector<int64_t> left_;       // a task may return to a place beyond this
  std::vector<std::vector<int32_t>> gone_;  // tasks that may not return to a place, and some that may again
  std::vector<Tabu> tabu_;
  Numbers<T> numbers_;          // holds the rows that follow
  T *x_, *y_, *x2_, *y2_;           // factors by task: how ties and distances of the two that moved differ
  T *along_, *along2_;              // the same as y_ and y2_, by place
  T *near_first_, *near_second_, *near_first2_, *near_second2_;  // distances of their places, by task
  T *own_, *on_first_, *on_second_, *own_row_, *least_, *number_;
  T least_of_all_ = 0;
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
