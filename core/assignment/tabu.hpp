// Robust tabu search for dense quadratic assignment: n tasks on n places, one each.
//
// Taillard (1991): every step makes the best permitted exchange of two tasks, even if it raises the cost. A
// task does not return to a place it left before its tenure has passed, unless that gives a new best. The
// bookkeeping differs from the literature (tabu_changes.hpp).
#pragma once
#include "util/control.hpp"
#include "util/parallel.hpp"
#include "util/rng.hpp"
#include "assignment/tabu_changes.hpp"

namespace hopbytes {

struct TabuOptions {
  int64_t iterations = 0;  // exchanges made
  int64_t fruitless = 0;  // exchanges without a new best that end the search; 0: never
  int64_t tenure_low = 90;  // per cent of n
  int64_t tenure_high = 110;
};

namespace tabu_detail {

// The work of starting a search from Python, in scanned edges.
constexpr int64_t kStartWork = 5'000;

template <class T> class Search {
 public:
  Search(const DenseProblem& problem, Out<int32_t> place, uint64_t seed, const TabuOptions& options,
         const Control& control)
      : n_(problem.n),
        options_(options),
        control_(control),
        rng_(seed),
        best_place_(place),
        changes_(problem, place) {}

  // Returns the cost of the best permutation found minus that of the first one (at most 0).
  int64_t run(int64_t& done) {
    control_.record_work(kStartWork + n_ * work_per_pass());
    int64_t since_best = 0;
    for (done = 0; done < options_.iterations && !control_.should_stop();) {
      const Pair move = choose();
      if (move.i < 0) break;
      const int64_t change = changes_.change(move.i, move.j);
      // A descent ends in its local optimum; a tabu search continues.
      if (options_.fruitless == 1 && change >= 0) break;
      exchange(move.i, move.j, change);
      ++done;
      since_best = keep_best() ? 0 : since_best + 1;
      if (options_.fruitless > 0 && since_best >= options_.fruitless) break;
    }
    control_.record_work(std::exchange(unrecorded_, 0));
    return best_;
  }

 private:
  // Searches on several threads share one counter, so they add to it rarely.
  static constexpr int64_t kRecordedAtOnce = 1'000'000;

  // Eight pairs in a branch-free pass cost about as much as one scanned edge elsewhere.
  int64_t work_per_pass() const { return n_ * n_ / 8 + 1; }

  // Stores the present permutation if it is the best so far.
  bool keep_best() {
    if (cost_ >= best_) return false;
    best_ = cost_;
    std::copy(changes_.place().begin(), changes_.place().end(), best_place_.begin());
    return true;
  }

  // Returns the best exchange that is not tabu or that gives a new best; ties are broken at random.
  Pair choose() {
    int64_t allowed = 0, tabu = 0;
    const bool any_allowed = changes_.least_allowed(allowed), any_tabu = changes_.least_tabu(tabu);
    Pair pick;
    uint64_t seen = 0;
    const auto draw = [&](int64_t i, int64_t j) {
      ++seen;
      if (seen == 1 || rng_.below(seen) == 0) pick = {i, j};
    };
    if (any_tabu && (!any_allowed || (tabu < allowed && cost_ + tabu < best_)))
      changes_.tabu_pairs(tabu, draw);
    else if (any_allowed) changes_.allowed_pairs(allowed, draw);
    return pick;
  }

  int64_t tenure() {
    const int64_t low = std::max<int64_t>(1, n_ * options_.tenure_low / 100);
    const int64_t high = std::max(low, n_ * options_.tenure_high / 100);
    return low + static_cast<int64_t>(rng_.below(high - low + 1));
  }

  void exchange(int64_t r, int64_t s, int64_t change) {
    ++now_;
    unrecorded_ += work_per_pass();
    if (unrecorded_ >= kRecordedAtOnce) control_.record_work(std::exchange(unrecorded_, 0));
    cost_ += change;
    const int64_t until_r = now_ + tenure(), until_s = now_ + tenure();
    changes_.exchange(r, s, now_, until_r, until_s);
  }

  int64_t n_;
  TabuOptions options_;
  const Control& control_;
  Rng rng_;
  Out<int32_t> best_place_;
  Changes<T> changes_;
  int64_t cost_ = 0, best_ = 0;  // relative to the first permutation
  int64_t now_ = 0;
  int64_t unrecorded_ = 0;  // scanned edges that the control does not know yet
};

// Calls work(number) with a number of the type in which the search is fastest: narrow types first, because
// more of their numbers fit a register. Floating-point types represent these integers exactly and multiply
// faster than integers of the same width.
template <class Work> auto with_numbers(const DenseProblem& problem, Work work) {
  const double largest = largest_number(problem);
  if (largest < fits<float>()) return work(float{});
  if (largest < fits<int32_t>()) return work(int32_t{});
  if (largest < fits<double>()) return work(double{});
  return work(int64_t{});
}

}  // namespace tabu_detail

// Improves `place`, a permutation. Returns the change of the cost (at most 0); `done` becomes the number of
// exchanges. All numbers must be >= 0 and `largest_number` below 2^61.
inline int64_t tabu_search(const DenseProblem& problem, Out<int32_t> place, uint64_t seed,
                           const TabuOptions& options, const Control& control, int64_t& done) {
  using namespace tabu_detail;
  done = 0;
  if (problem.n < 2) return 0;
  return with_numbers(problem, [&](auto type) -> int64_t {
    return Search<decltype(type)>(problem, place, seed, options, control).run(done);
  });
}

// Searches from several permutations (one per row of `place`), in parallel.
inline void tabu_many(const DenseProblem& problem, Out<int32_t> place, In<uint64_t> seed,
                      const TabuOptions& options, const Control& control, Out<int64_t> change,
                      Out<int64_t> done) {
  parallel_for(static_cast<int64_t>(seed.size()), control.team(), [&](int64_t i) {
    change[i] =
        tabu_search(problem, place.subspan(i * problem.n, problem.n), seed[i], options, control, done[i]);
  });
}

}  // namespace hopbytes
