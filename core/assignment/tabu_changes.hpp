// The change of the cost for every exchange of two tasks of a dense quadratic assignment, updated under
// exchanges, with the tabu pairs set apart.
//
// Besides the change of every exchange (Frieze, Yadegar, El-Horbaty 1989: O(1) per pair after an exchange of
// two other tasks) the class stores the cost of every task on every place, so that exchanges with the two
// moved tasks are O(1) as well. Tabu pairs are few: they are stored in a list, and in the matrix their change
// is increased by more than any change, so that one pass updates and evaluates all pairs without testing
// which are permitted.
#pragma once
#include <cstddef>
#include <new>
#include <numeric>

#include "graph/csr.hpp"
#include "assignment/tabu_passes.hpp"

namespace hopbytes {

// Row-major n x n matrices. The cost of a permutation p is the sum over i, j of flow[i,j] distance[p_i,p_j]
// (over i < j if `symmetric`; flow then contains both directions) plus the sum of linear_cost[i,p_i]. The
// diagonals of flow and distance are zero: their products belong to the linear cost (empty: none).
struct DenseProblem {
  int64_t n = 0;
  bool symmetric = true;
  In<int64_t> flow, distance, linear_cost;
};

namespace tabu_detail {

// The number of bits of integers that T represents exactly.
template <class T> constexpr int kDigits = std::numeric_limits<T>::digits;
// The increase of the change of a tabu pair. Changes must stay below half of it: then increased ones are
// above all others and below 3/2 of it, which T still represents exactly.
template <class T> constexpr T kRaise = static_cast<T>(int64_t{1} << (kDigits<T> - 1));

template <class T> double fits() { return static_cast<double>(kRaise<T>) / 2; }

// Rows begin at cache lines, so that a step of a pass touches as few cache lines as possible.
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

// Returns an upper bound of every number in the search, as a double, because it only selects a type. A task
// costs between 0 and `cost`, an exchange changes the costs of two tasks, and updates add products of
// differences.
inline double largest_number(const DenseProblem& problem) {
  double row = 0, furthest = 0, linear_cost = 0, heaviest = 0;
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
  for (int64_t u : problem.linear_cost) linear_cost = std::max(linear_cost, static_cast<double>(u));
  const double cost = (problem.symmetric ? 1 : 2) * row * furthest + linear_cost;
  const double products = (problem.symmetric ? 4 : 8) * heaviest * furthest;
  return std::max({2 * cost + products, heaviest, furthest});
}

// The cost of every task on every place. Products are added later, several at once, for one pass over it.
template <class T> class DeferredCosts {
 public:
  explicit DeferredCosts(int64_t n)
      : n_(n),
        stride_(padded(n)),
        cost_((n_ + kRows) * stride_, 0),
        by_task_(kDeferred * stride_, 0),
        by_place_(kDeferred * stride_, 0) {}

  // The costs of a task by place, without deferred products.
  T* row(int64_t task) { return cost_.data() + task * stride_; }

  // Defers the product of two vectors.
  void defer(const T* by_task, const T* by_place) {
    const auto [x, y] = next_deferred();
    std::copy_n(by_task, stride_, x), std::copy_n(by_place, stride_, y);
  }

  // Returns where the caller writes the factors of another product, by task and by place.
  std::pair<T*, T*> next_deferred() {
    make_room(1);
    const int64_t at = deferred_++ * stride_;
    return {by_task_.data() + at, by_place_.data() + at};
  }

  // Makes sure that the factors of as many products as `count` stay where they are until all are written.
  void make_room(int64_t count) {
    if (deferred_ + count > kDeferred) apply_deferred();
  }

  void apply_deferred() {
    std::fill(by_task_.begin() + deferred_ * stride_, by_task_.end(), T(0));
    add_products(n_, cost_.data(), by_task_.data(), by_place_.data());
    deferred_ = 0;
  }

  // Computes the costs of a task on all places, including deferred products.
  void of_task(int64_t task, T* costs) const {
    std::copy_n(cost_.data() + task * stride_, stride_, costs);
    add_rows<T>(stride_, costs, by_task_.data() + task, by_place_.data(), deferred_);
  }

  // Computes the costs of all tasks on two places, including deferred products.
  void of_places(int64_t first, int64_t second, T* on_first, T* on_second) const {
    for (int64_t i = 0; i < n_; ++i) {
      const T* costs = cost_.data() + i * stride_;
      on_first[i] = costs[first], on_second[i] = costs[second];
    }
    add_rows<T>(stride_, on_first, by_place_.data() + first, by_task_.data(), deferred_);
    add_rows<T>(stride_, on_second, by_place_.data() + second, by_task_.data(), deferred_);
  }

 private:
  int64_t n_, stride_;
  Numbers<T> cost_;
  Numbers<T> by_task_, by_place_;  // factors of the products not yet added, kDeferred rows
  int64_t deferred_ = 0;
};

struct Pair {
  int64_t i = -1, j = -1;
};

// T represents every number exactly (see `largest_number`).
template <class T> class Changes {
 public:
  Changes(const DenseProblem& problem, In<int32_t> place)
      : n_(problem.n),
        both_(!problem.symmetric),
        stride_(padded(n_)),
        place_(place.begin(), place.end()),
        flow_(read(problem.flow)),
        near_(read(problem.distance)),
        costs_(n_),
        change_((n_ + kRows) * stride_, 0),
        tabu_until_(n_ * n_),
        tabu_tasks_(n_),
        numbers_(15 * stride_, 0) {
    T* next = numbers_.data();
    for (T** row : {&difference_, &difference_back_, &own_cost_, &least_, &number_, &zeros_, &elsewhere_,
                    &first_.costs, &first_.on_its_place, &first_.near, &first_.near_back, &second_.costs,
                    &second_.on_its_place, &second_.near, &second_.near_back})
      *row = next, next += stride_;
    std::iota(number_, number_ + stride_, T(0));
    if (both_) flow_in_ = transposed(flow_), near_in_ = transposed(near_);
    initialize(problem.linear_cost);
  }
  // A copy would keep pointers into the numbers of the other one.
  Changes(Changes&&) = default;
  Changes& operator=(Changes&&) = default;

  const std::vector<int32_t>& place() const { return place_; }

  // Becomes a copy of the state of another one of the same problem. In both no pair is tabu.
  void take(const Changes& other) {
    place_ = other.place_, costs_ = other.costs_, change_ = other.change_, numbers_ = other.numbers_;
    least_of_all_ = other.least_of_all_;
  }

  // Returns the change of exchanging i < j, tabu or not.
  int64_t change(int64_t i, int64_t j) const {
    const T d = change_[i * stride_ + j];
    return static_cast<int64_t>(d > kRaise<T> / 2 ? d - kRaise<T> : d);
  }

  // Exchanges the tasks r and s at time `now`. Neither returns to the place it leaves before the given times.
  void exchange(int64_t r, int64_t s, int64_t now, int64_t until_r, int64_t until_s) {
    make_tabu(r, until_r);
    make_tabu(s, until_s);
    std::swap(place_[r], place_[s]);
    expire(r, s, now);
    update(r, s, now);
  }

  // Computes the smallest change among pairs that are not tabu. Returns false if all pairs are tabu.
  bool least_allowed(int64_t& change) const {
    change = static_cast<int64_t>(least_of_all_);
    return least_of_all_ < kRaise<T> / 2;
  }

  // Computes the smallest change among tabu pairs. Returns false if no pair is tabu.
  bool least_tabu(int64_t& change) const {
    T least = std::numeric_limits<T>::max();
    for (const Tabu& pair : tabu_) least = std::min(least, change_[pair.i * stride_ + pair.j]);
    if (!tabu_.empty()) change = static_cast<int64_t>(least - kRaise<T>);
    return !tabu_.empty();
  }

  // Calls visit(i, j) for the permitted pairs with this change, column by column.
  template <class Visit> void allowed_pairs(int64_t change, Visit visit) const {
    const T value = static_cast<T>(change);
    for (int64_t j = 1; j < n_; ++j) {
      if (least_[j] != value) continue;
      for (int64_t i = 0; i < j; ++i)
        if (change_[i * stride_ + j] == value) visit(i, j);
    }
  }

  // Calls visit(i, j) for the tabu pairs with this change.
  template <class Visit> void tabu_pairs(int64_t change, Visit visit) const {
    const T value = static_cast<T>(change) + kRaise<T>;
    std::vector<Tabu> equal;
    for (const Tabu& pair : tabu_)
      if (change_[pair.i * stride_ + pair.j] == value) equal.push_back(pair);
    std::sort(equal.begin(), equal.end(),
              [](const Tabu& a, const Tabu& b) { return a.j != b.j ? a.j < b.j : a.i < b.i; });
    for (const Tabu& pair : equal) visit(pair.i, pair.j);
  }

 private:
  struct Tabu {
    int32_t i, j;
    int64_t until;
  };
  // Rows about one of the two tasks that were exchanged: its costs on all places, the costs of all tasks on
  // its place, and the distances of their places from its place and to it.
  struct MovedTask {
    T *costs, *on_its_place, *near, *near_back;
  };

  Numbers<T> read(In<int64_t> matrix) const {
    Numbers<T> copy(n_ * stride_, 0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) copy[i * stride_ + j] = static_cast<T>(matrix[i * n_ + j]);
    return copy;
  }

  Numbers<T> transposed(const Numbers<T>& matrix) const {
    Numbers<T> result(n_ * stride_, 0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) result[j * stride_ + i] = matrix[i * stride_ + j];
    return result;
  }

  // The rows hold the values out of a task or place, and those into it.
  const T* out(int64_t task) const { return flow_.data() + task * stride_; }
  const T* in(int64_t task) const { return (both_ ? flow_in_ : flow_).data() + task * stride_; }
  const T* from(int64_t place) const { return near_.data() + place * stride_; }
  const T* to(int64_t place) const { return (both_ ? near_in_ : near_).data() + place * stride_; }

  void initialize(In<int64_t> linear_cost) {
    for (int64_t i = 0; i < n_ && !linear_cost.empty(); ++i)
      for (int64_t p = 0; p < n_; ++p) costs_.row(i)[p] = static_cast<T>(linear_cost[i * n_ + p]);
    for (int64_t k = 0; k < n_; ++k) {
      costs_.defer(in(k), to(place_[k]));
      if (both_) costs_.defer(out(k), from(place_[k]));
    }
    costs_.apply_deferred();
    for (int64_t i = 0; i < n_; ++i) own_cost_[i] = costs_.row(i)[place_[i]];
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j)
        change_[i * stride_ + j] = costs_.row(i)[place_[j]] + costs_.row(j)[place_[i]] - own_cost_[i] -
                                   own_cost_[j] + correction(i, j);
    pass_pairs(zeros_, zeros_);
  }

  T correction(int64_t i, int64_t j) const {
    const T flow = out(i)[j], near = from(place_[i])[place_[j]];
    return both_ ? between<true>(flow, in(i)[j], near, to(place_[i])[place_[j]])
                 : between<false>(flow, flow, near, near);
  }

  // Defers the update of the costs after an exchange: the difference of the flows of the two tasks, per task
  // (returned), times that of the distances of their places, per place. The distances are also read per
  // task.
  const T* differ(const T* flow_r, const T* flow_s, const T* near_r, const T* near_s, T* first, T* second,
                  T* y) {
    const auto [x, by_place] = costs_.next_deferred();
    find_difference<T>(n_, place_.data(),
                       {flow_r, flow_s, near_r, near_s, x, by_place, first, second, y, own_cost_});
    return x;
  }

  // Updates everything after r and s have exchanged their places.
  void update(int64_t r, int64_t s, int64_t now) {
    const int64_t here = place_[r], there = place_[s];
    // so that both factors remain valid until they are used
    if (both_) costs_.make_room(2);
    const T* x = differ(in(r), in(s), to(here), to(there), first_.near, second_.near, difference_);
    const T* x2 = zeros_;
    if (both_)
      x2 = differ(out(r), out(s), from(here), from(there), first_.near_back, second_.near_back,
                  difference_back_);
    costs_.of_task(r, first_.costs), costs_.of_task(s, second_.costs);
    own_cost_[r] = first_.costs[here], own_cost_[s] = second_.costs[there];
    costs_.of_places(here, there, first_.on_its_place, second_.on_its_place);
    const Factors<T> by{x, difference_, x2, difference_back_};
    reevaluate(r, first_, -1, now, by);
    reevaluate(s, second_, r, now, by);
    pass_pairs(x, x2);
  }

  void pass_pairs(const T* x, const T* x2) {
    least_of_all_ =
        evaluate_pairs<T>(both_, n_, change_.data(), {x, difference_, x2, difference_back_}, number_, least_);
  }

  // Recomputes the changes of all exchanges with task r, which has moved. The values include what the
  // following pass subtracts. A pair is tabu while both tasks would return to a place they have left; the
  // pair with `listed` is already in the list.
  void reevaluate(int64_t r, const MovedTask& moved, int64_t listed, int64_t now, const Factors<T>& by) {
    T* fresh = change_.data() + r * stride_;
    const OneTask<T> one{moved.costs, moved.on_its_place, own_cost_,      out(r),
                         in(r),       moved.near,         moved.near_back};
    if (both_) evaluate_task<true>(n_, r, place_.data(), one, by, elsewhere_, fresh);
    else evaluate_task<false>(n_, r, place_.data(), one, by, elsewhere_, fresh);
    const auto task = static_cast<int32_t>(r);
    // Few tasks are still forbidden to return here.
    std::erase_if(tabu_tasks_[place_[r]], [&](int32_t j) {
      const int64_t until_here = tabu_until_[j * n_ + place_[r]];
      if (until_here < now || j == r) return true;  // the task itself is entered again when it leaves
      const int64_t until = std::min(until_here, tabu_until_[r * n_ + place_[j]]);
      if (until < now) return false;
      fresh[j] += kRaise<T>;
      if (j != listed) tabu_.push_back({std::min(task, j), std::max(task, j), until});
      return false;
    });
    for (int64_t i = 0; i < r; ++i) change_[i * stride_ + r] = fresh[i];
  }

  // Removes pairs from the list that are no longer tabu or that will be evaluated again.
  void expire(int64_t r, int64_t s, int64_t now) {
    std::erase_if(tabu_, [&](const Tabu& pair) {
      if (pair.i == r || pair.i == s || pair.j == r || pair.j == s) return true;
      if (pair.until >= now) return false;
      change_[pair.i * stride_ + pair.j] -= kRaise<T>;
      return true;
    });
  }

  // Forbids the task to return to its present place until the given time.
  void make_tabu(int64_t task, int64_t until) {
    const int32_t here = place_[task];
    tabu_until_[task * n_ + here] = until;
    tabu_tasks_[here].push_back(static_cast<int32_t>(task));
  }

  int64_t n_;
  bool both_;  // the problem is not symmetric
  int64_t stride_;
  std::vector<int32_t> place_;
  Numbers<T> flow_, flow_in_;  // from task to task; flow_in_ is flow_ transposed
  Numbers<T> near_, near_in_;  // from place to place
  DeferredCosts<T> costs_;  // of a task on a place if all others stay
  Numbers<T> change_;  // of exchanging i < j, increased for tabu pairs
  std::vector<int64_t> tabu_until_;  // time until which a task must not return to a place (tabu tenure)
  // of every place: tasks that must not return to it, and some that may again
  std::vector<std::vector<int32_t>> tabu_tasks_;
  std::vector<Tabu> tabu_;
  Numbers<T> numbers_;  // storage of the rows below
  T *difference_, *difference_back_;  // differences of the distances of the two moved tasks, by task
  T* own_cost_;  // of every task on its place
  MovedTask first_, second_;
  T *elsewhere_, *least_, *number_, *zeros_;
  T least_of_all_ = 0;
};

}  // namespace tabu_detail
}  // namespace hopbytes
