// Independent jobs on a few threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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
    for (int64_t t = 1; t < std::min<int64_t>(threads, count); ++t) helpers.emplace_back(work);
  } catch (const std::exception&) {
    // If the system refuses more threads, the existing ones share the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hopbytes
