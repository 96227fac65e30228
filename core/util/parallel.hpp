// Independent jobs on a few threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "util/helper_thread.hpp"

namespace hopbytes {

// Runs job(0) .. job(count - 1) on up to `threads` threads. It is no template, because a job takes much
// longer than its call.
inline void parallel_for(int64_t count, int32_t threads, const std::function<void(int64_t)>& job) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto work = [&] {
    try {
      for (int64_t i; (i = next.fetch_add(1)) < count;) job(i);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(failure_lock);
      failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int64_t t = 1; t < std::min<int64_t>(threads, count); ++t)
      helpers.push_back(helper_thread([&work] { work(); }));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // If the system refuses more threads, the existing ones share the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

// Calls work(worker, begin, end) for consecutive ranges of `step` items, which are the same for any number of
// threads. `worker` numbers the thread, 0 .. threads - 1, for buffers that it keeps from range to range.
inline void parallel_ranges(int64_t count, int64_t step, int32_t threads,
                            const std::function<void(int32_t, int64_t, int64_t)>& work) {
  const int64_t ranges = (count + step - 1) / step;
  std::atomic<int64_t> next{0};
  parallel_for(std::min<int64_t>(std::max(threads, 1), ranges), threads, [&](int64_t worker) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < ranges;)
      work(static_cast<int32_t>(worker), i * step, std::min(count, (i + 1) * step));
  });
}

// Returns the sum of work(begin, end) over consecutive ranges of `step` items. Integers are added, so the
// order does not matter.
inline int64_t parallel_sum(int64_t count, int64_t step, int32_t threads,
                            const std::function<int64_t(int64_t, int64_t)>& work) {
  if (threads <= 1) return work(0, count);
  std::atomic<int64_t> sum{0};
  parallel_ranges(count, step, threads, [&](int32_t, int64_t begin, int64_t end) {
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
