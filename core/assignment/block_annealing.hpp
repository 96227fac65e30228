// Annealed exchanges of blocks of tasks, for dense quadratic assignment with groups within groups.
//
// Where tasks and places form groups, whole groups have to exchange their places, and every single exchange
// on the way costs more. A step exchanges two blocks of similar tasks, or the tasks on two blocks of similar
// places, descends to a local optimum, and keeps it as simulated annealing would (Martin, Otto, Felten 1991).
#pragma once
#include "assignment/annealing.hpp"
#include "assignment/tabu.hpp"

namespace hopbytes {

struct BlockAnnealingOptions {
  int64_t iterations = 0;  // exchanges of two tasks, after which no further step begins
  int64_t descents = 0;  // the most steps
  double temperature = 0;  // in units of the cost
};

// Row-major n x n matrices: by how much two items differ, and for each item all of them, similar ones first.
struct Similarity {
  In<int64_t> difference;
  In<int32_t> order;
};

namespace tabu_detail {

// Two blocks of as many items each, none in both.
class TwoBlocks {
 public:
  explicit TwoBlocks(int64_t n) : n_(n), weights_(most()), in_first_(n) {}

  // A large relative increase of the difference is a border of a group, so blocks end there most often; small
  // blocks are preferred.
  void draw(const Similarity& similar, Rng& rng) {
    const int64_t begin = static_cast<int64_t>(rng.below(n_)) * n_;
    const int32_t* order = &similar.order[begin];
    double sum = 0, before = 0;
    for (int64_t size = 1; size <= most(); ++size) {
      const auto next = static_cast<double>(similar.difference[begin + order[size]]);
      sum += next > before ? (next - before) / next / std::sqrt(static_cast<double>(size)) : 0;
      weights_[size - 1] = sum;
      before = next;
    }
    const double drawn = sum * (static_cast<double>(rng.next() >> 11) * 0x1p-53);
    const auto end = std::upper_bound(weights_.begin(), weights_.end() - 1, drawn);
    first.assign(order, order + (end - weights_.begin()) + 1);
    for (const int32_t item : first) in_first_[item] = true;
    int64_t other = 0;
    do other = static_cast<int64_t>(rng.below(n_));
    while (in_first_[other]);
    second.clear();
    for (const int32_t* item = &similar.order[other * n_]; second.size() < first.size(); ++item)
      if (!in_first_[*item]) second.push_back(*item);
    for (const int32_t item : first) in_first_[item] = false;
  }

  std::vector<int32_t> first, second;

 private:
  int64_t most() const { return std::max<int64_t>(1, n_ / 3); }

  int64_t n_;
  std::vector<double> weights_;  // of every size, summed up
  std::vector<uint8_t> in_first_;
};

template <class T> class BlockAnnealing {
 public:
  BlockAnnealing(const DenseProblem& problem, In<int32_t> place, uint64_t seed,
                 const BlockAnnealingOptions& options)
      : n_(problem.n),
        options_(options),
        rng_(seed),
        blocks_(n_),
        present_(problem, place),
        next_(problem, place),
        task_on_(n_) {}

  // Leaves the last permutation in `place` and the best one in `best`. Returns the number of exchanges.
  int64_t run(const Similarity& tasks, const Similarity& places, const Control& control, Out<int32_t> place,
              Out<int32_t> best) {
    const int64_t work_per_pass = n_ * n_ / 8 + 1;
    control.record_work(kStartWork + n_ * work_per_pass);
    int64_t cost = descend(present_), least = cost;
    std::copy(present_.place().begin(), present_.place().end(), best.begin());
    for (int64_t i = 0; i < options_.descents && done_ < options_.iterations && !control.should_stop(); ++i) {
      const int64_t before = done_;
      next_.take(present_);
      const bool by_tasks = rng_.below(2) == 0;
      blocks_.draw(by_tasks ? tasks : places, rng_);
      const int64_t change = exchange_blocks(by_tasks) + descend(next_);
      control.record_work((done_ - before) * work_per_pass);
      const bool keep =
          change <= 0 || static_cast<double>(change) < options_.temperature * exponential_threshold(rng_);
      if (!keep) continue;
      std::swap(present_, next_);
      cost += change;
      if (cost >= least) continue;
      least = cost;
      std::copy(present_.place().begin(), present_.place().end(), best.begin());
    }
    std::copy(present_.place().begin(), present_.place().end(), place.begin());
    return done_;
  }

 private:
  int64_t exchange_blocks(bool by_tasks) {
    if (!by_tasks)
      for (int64_t i = 0; i < n_; ++i) task_on_[next_.place()[i]] = static_cast<int32_t>(i);
    int64_t change = 0;
    for (size_t k = 0; k < blocks_.first.size(); ++k) {
      const int32_t one = blocks_.first[k], other = blocks_.second[k];
      change += by_tasks ? exchange(next_, one, other) : exchange(next_, task_on_[one], task_on_[other]);
    }
    return change;
  }

  int64_t descend(Changes<T>& changes) {
    int64_t total = 0;
    for (int64_t least = 0; done_ < options_.iterations && changes.least_allowed(least) && least < 0;) {
      Pair pick;
      uint64_t seen = 0;
      changes.allowed_pairs(least, [&](int64_t i, int64_t j) {
        ++seen;
        if (seen == 1 || rng_.below(seen) == 0) pick = {i, j};
      });
      total += exchange(changes, pick.i, pick.j);
    }
    return total;
  }

  // No exchange is ever tabu.
  int64_t exchange(Changes<T>& changes, int64_t i, int64_t j) {
    const int64_t change = changes.change(std::min(i, j), std::max(i, j));
    changes.exchange(std::min(i, j), std::max(i, j), 1, 0, 0);
    ++done_;
    return change;
  }

  int64_t n_;
  BlockAnnealingOptions options_;
  Rng rng_;
  TwoBlocks blocks_;
  Changes<T> present_, next_;
  std::vector<int32_t> task_on_;
  int64_t done_ = 0;
};

}  // namespace tabu_detail

// Anneals several permutations (one per row of `place`), in parallel. Rows of `best` become the best ones.
inline void anneal_blocks(const DenseProblem& problem, const Similarity& tasks, const Similarity& places,
                          Out<int32_t> place, In<uint64_t> seed, const BlockAnnealingOptions& options,
                          const Control& control, Out<int32_t> best, Out<int64_t> done) {
  parallel_for(static_cast<int64_t>(seed.size()), control.team(), [&](int64_t i) {
    const Out<int32_t> own = place.subspan(i * problem.n, problem.n);
    tabu_detail::with_numbers(problem, [&](auto type) {
      done[i] = tabu_detail::BlockAnnealing<decltype(type)>(problem, own, seed[i], options)
                    .run(tasks, places, control, own, best.subspan(i * problem.n, problem.n));
    });
  });
}

}  // namespace hopbytes
