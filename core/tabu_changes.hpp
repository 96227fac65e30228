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
#include <span>
#include <utility>
#include <vector>

#include "tabu_passes.hpp"
#include "tabu_problem.hpp"

namespace hopbytes {

namespace tabu_detail {

struct Pair { int64_t i = -1, j = -1; };

// T is wide enough for every number (see `largest_number`).
template <class T, bool kBoth> class Changes {
 public:
  Changes(const DenseProblem& problem, std::span<const int32_t> place)
      : n_(problem.n), stride_(padded(n_)), place_(place.begin(), place.end()), flow_(read(problem.flow)),
        near_(read(problem.distance)), cost_((n_ + kRows) * stride_, 0), change_((n_ + kRows) * stride_, 0),
        left_(n_ * n_), gone_(n_), numbers_((15 + 2 * kOwed) * stride_, 0) {
    T* next = numbers_.data();
    for (T** array : {&y_, &y2_, &own_, &costs_first_, &costs_second_, &on_first_, &on_second_, &least_, &number_,
                      &near_first_, &near_second_, &near_first2_, &near_second2_, &none_, &elsewhere_})
      *array = next, next += stride_;
    owed_x_ = next, owed_y_ = next + kOwed * stride_;
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
    std::sort(equal.begin(), equal.end(),
              [](const Tabu& a, const Tabu& b) { return a.j != b.j ? a.j < b.j : a.i < b.i; });
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
      owe<kFused>(in(k), to(place_[k]));
      if constexpr (kBoth) owe<kFused>(out(k), from(place_[k]));
    }
    settle<kFused>();
    for (int64_t i = 0; i < n_; ++i) own_[i] = cost_[i * stride_ + place_[i]];
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j)
        change_[i * stride_ + j] = cost_[i * stride_ + place_[j]] + cost_[j * stride_ + place_[i]] - own_[i] - own_[j] +
                                   between(flow_[i * stride_ + j], in(i)[j], from(place_[i])[place_[j]],
                                           to(place_[i])[place_[j]]);
    pass_pairs<kFused>(none_, none_);
  }

  // What two tasks say to each other counts in the costs of both as if one stood still; this makes up for it.
  static HOPBYTES_INLINE T between(T flow, T flow_back, T near, T near_back) {
    if constexpr (kBoth) return (flow + flow_back) * (near + near_back);
    else return T(2) * flow * near;
  }

  // Another product that is to be added to costs; returns its factor by task.
  template <bool kFused> HOPBYTES_INLINE T* owe(const T* by_task, const T* by_place) {
    if (owed_ == kOwed) settle<kFused>();
    T *x = owed_x_ + owed_ * stride_, *y = owed_y_ + owed_ * stride_;
    std::copy_n(by_task, stride_, x), std::copy_n(by_place, stride_, y);
    ++owed_;
    return x;
  }

  template <bool kFused> HOPBYTES_INLINE void settle() {
    std::fill(owed_x_ + owed_ * stride_, owed_x_ + kOwed * stride_, T(0));
    pay<T, kFused>(n_, cost_.data(), owed_x_, owed_y_);
    owed_ = 0;
  }

  // What two tasks that have changed places change in costs: how they differ in flows, by task (returned), times how
  // their places differ in distances, by place. The latter is read off by task as well, for both places.
  template <bool kFused>
  HOPBYTES_INLINE const T* differ(const T* flow_r, const T* flow_s, const T* near_r, const T* near_s,
                                  T* __restrict__ first, T* __restrict__ second, T* __restrict__ y) {
    if (owed_ == kOwed) settle<kFused>();
    T *__restrict__ x = owed_x_ + owed_ * stride_, *__restrict__ by_place = owed_y_ + owed_ * stride_;
    ++owed_;
    for (int64_t j = 0; j < stride_; ++j) x[j] = flow_r[j] - flow_s[j], by_place[j] = near_r[j] - near_s[j];
    for (int64_t j = 0; j < n_; ++j) {
      const int64_t p = place_[j];
      first[j] = near_r[p], second[j] = near_s[p];
    }
    for (int64_t j = 0; j < stride_; ++j) {
      y[j] = first[j] - second[j];
      own_[j] += x[j] * y[j];
    }
    return x;
  }

  // Brings all up to date after r and s have changed places.
  template <bool kFused> HOPBYTES_INLINE void update(int64_t r, int64_t s, int64_t now) {
    const int64_t here = place_[r], there = place_[s];
    if (kBoth && owed_ + 2 > kOwed) settle<kFused>();  // so that both stay until they are used
    const T* x = differ<kFused>(in(r), in(s), to(here), to(there), near_first_, near_second_, y_);
    const T* x2 = none_;
    if constexpr (kBoth)
      x2 = differ<kFused>(out(r), out(s), from(here), from(there), near_first2_, near_second2_, y2_);
    cost_row<kFused>(r, costs_first_), cost_row<kFused>(s, costs_second_);
    own_[r] = costs_first_[here], own_[s] = costs_second_[there];
    cost_columns<kFused>(here, there);
    const Factors<T> by{x, y_, x2, y2_};
    renew(r, -1, now, by, costs_first_, near_first_, near_first2_, on_first_);
    renew(s, r, now, by, costs_second_, near_second_, near_second2_, on_second_);
    pass_pairs<kFused>(x, x2);
  }

  // What a task costs on all places, with what is owed.
  template <bool kFused> HOPBYTES_INLINE void cost_row(int64_t task, T* costs) const {
    std::copy_n(cost_.data() + task * stride_, stride_, costs);
    add_rows<T, kFused>(stride_, costs, owed_x_ + task, owed_y_, owed_);
  }

  // What all tasks cost on two places.
  template <bool kFused> HOPBYTES_INLINE void cost_columns(int64_t first, int64_t second) {
    for (int64_t i = 0; i < n_; ++i) {
      const T* row = cost_.data() + i * stride_;
      on_first_[i] = row[first], on_second_[i] = row[second];
    }
    add_rows<T, kFused>(stride_, on_first_, owed_y_ + first, owed_x_, owed_);
    add_rows<T, kFused>(stride_, on_second_, owed_y_ + second, owed_x_, owed_);
  }

  template <bool kFused> HOPBYTES_INLINE void pass_pairs(const T* x, const T* x2) {
    least_of_all_ = judge_pairs<T, kBoth, kFused>(n_, change_.data(), {x, y_, x2, y2_}, number_, least_);
  }

#if HOPBYTES_WIDE
  HOPBYTES_FOR_WIDE void update_wide(int64_t r, int64_t s, int64_t now) { update<true>(r, s, now); }
  HOPBYTES_FOR_WIDE void set_up_wide() { set_up<true>(); }
#endif

  // Changes of all exchanges with task r, which costs `costs` on all places and whose place is that of the distances
  // `near` and of the others' costs `on_its_place`; what the pass to come subtracts is added already. A pair is
  // tabu while both tasks would return to a place they have left; that with `listed` is in the list by now.
  HOPBYTES_INLINE void renew(int64_t r, int64_t listed, int64_t now, const Factors<T>& by, const T* costs,
                             const T* near, const T* near_back, const T* on_its_place) {
    const T *flow = out(r), *flow_back = in(r);
    T* __restrict__ elsewhere = elsewhere_;
    for (int64_t j = 0; j < n_; ++j) elsewhere[j] = costs[place_[j]];
    T* __restrict__ fresh = change_.data() + r * stride_;
    for (int64_t j = 0; j < stride_; ++j) {
      T d = elsewhere[j] + on_its_place[j] - own_[r] - own_[j] + between(flow[j], flow_back[j], near[j], near_back[j]) +
            (by.x[r] - by.x[j]) * (by.y[r] - by.y[j]);
      if constexpr (kBoth) d += (by.x2[r] - by.x2[j]) * (by.y2[r] - by.y2[j]);
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
  T *owed_x_, *owed_y_;             // products not yet added to cost_: factors by task and by place, kOwed rows
  int64_t owed_ = 0;
  T *y_, *y2_;                      // how the distances of the two that moved differ, by task
  T *near_first_, *near_second_, *near_first2_, *near_second2_;  // those distances
  T *own_;                          // cost of every task where it is
  T *costs_first_, *costs_second_;  // of the two that moved, on all places
  T *on_first_, *on_second_;        // of all, on their places
  T *elsewhere_, *least_, *number_, *none_;
  T least_of_all_ = 0;
};

}  // namespace tabu_detail
}  // namespace hopbytes
