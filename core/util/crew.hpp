// Threads that wait for the next job, for jobs of less time than it takes to start a thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "util/helper_thread.hpp"

namespace hopbytes {

class Crew {
 public:
  // If the system refuses more threads, the existing ones do the work.
  explicit Crew(int32_t threads) {
    try {
      for (int32_t t = 1; t < threads; ++t) helpers_.push_back(helper_thread([this, t] { help(t); }));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    job_ = nullptr;
    begin();
    for (std::thread& helper : helpers_) helper.join();
  }

  // Calls job(0) .. job(threads - 1) at the same time, each on a thread of its own, and returns when all have
  // ended.
  void run(const std::function<void(int32_t)>& job) {
    job_ = &job;
    working_.store(static_cast<int32_t>(helpers_.size()), std::memory_order_relaxed);
    begin();
    attempt(0);
    for (int32_t turn = 0; working_.load(std::memory_order_acquire) != 0; ++turn) rest(turn);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  static constexpr int32_t kTurns = 2000;  // a few microseconds, in which most jobs begin or end

  static void rest(int32_t turn) {
    if (turn >= kTurns) std::this_thread::yield();
  }

  void begin() {
    begun_.fetch_add(1, std::memory_order_release);
    begun_.notify_all();
  }

  void attempt(int32_t worker) {
    try {
      (*job_)(worker);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(failure_lock_);
      failure_ = std::current_exception();
    }
  }

  void help(int32_t worker) {
    for (uint32_t seen = 0;; ++seen) {
      for (int32_t turn = 0; turn < 8 * kTurns && begun_.load(std::memory_order_acquire) == seen; ++turn)
        rest(turn);
      begun_.wait(seen, std::memory_order_acquire);
      if (!job_) return;
      attempt(worker);
      working_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<std::thread> helpers_;
  const std::function<void(int32_t)>* job_ = nullptr;
  std::atomic<uint32_t> begun_{0};   // number of jobs
  std::atomic<int32_t> working_{0};  // helpers that have not ended the present one
  std::exception_ptr failure_;
  std::mutex failure_lock_;
};

}  // namespace hopbytes
