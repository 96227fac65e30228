// Loops of independent jobs on the threads of a team.
#pragma once
#include <algorithm>
#include <atomic>

#include "util/team.hpp"

namespace hopbytes {

// Runs job(0) .. job(count - 1), whose order does not matter.
inline void parallel_for(int64_t count, Team& team, const std::function<void(int64_t)>& job) {
  team.run(count, [&job](int32_t, int64_t i) { job(i); });
}

// Calls work(worker, begin, end) for consecutive ranges of `step` items, which are the same for any number of
// threads. `worker` numbers the threads that take part, 0 .. team.threads() - 1, for buffers that a thread
// keeps from range to range.
inline void parallel_ranges(int64_t count, int64_t step, Team& team,
                            const std::function<void(int32_t, int64_t, int64_t)>& work) {
  team.run((count + step - 1) / step,
           [&](int32_t worker, int64_t i) { work(worker, i * step, std::min(count, (i + 1) * step)); });
}

// Returns the sum of work(begin, end) over consecutive ranges of `step` items. Integers are added, so the
// order does not matter.
inline int64_t parallel_sum(int64_t count, int64_t step, Team& team,
                            const std::function<int64_t(int64_t, int64_t)>& work) {
  if (team.threads() == 1) return work(0, count);
  std::atomic<int64_t> sum{0};
  parallel_ranges(count, step, team, [&](int32_t, int64_t begin, int64_t end) {
    sum.fetch_add(work(begin, end), std::memory_order_relaxed);
  });
  return sum;
}

// Relaxed access to elements that several threads use at the same time. The results have to be independent of
// the order, as sums and equal values are.
template <class T> T shared_load(const T& value) {
  return std::atomic_ref<T>(const_cast<T&>(value)).load(std::memory_order_relaxed);
}
template <class T> void shared_store(T& value, T to) {
  std::atomic_ref<T>(value).store(to, std::memory_order_relaxed);
}
template <class T> T shared_add(T& value, T more) {
  return std::atomic_ref<T>(value).fetch_add(more, std::memory_order_relaxed);
}

}  // namespace hopbytes
