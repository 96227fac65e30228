// Parts of nested searches on the threads that have nothing to do at the moment.
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

// The number of threads that the searches of one call may start at the moment. It is less than 0 for a short
// time when a search goes on whose thread was lent to another one while it waited.
class IdleThreads {
 public:
  explicit IdleThreads(int32_t count) : count_(std::max(0, count)) {}
  // Returns whether there was an idle thread, which the caller then has.
  bool take() {
    int32_t count = count_.load(std::memory_order_relaxed);
    while (count > 0)
      if (count_.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) return true;
    return false;
  }
  void take_back() { count_.fetch_sub(1, std::memory_order_relaxed); }
  void give() { count_.fetch_add(1, std::memory_order_relaxed); }
  bool any() const { return count_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<int32_t> count_;
};

// Runs job(0) .. job(count - 1), each as soon as a thread is free for it. Threads that become idle elsewhere
// join while jobs are left, and a thread that waits for others is idle. A job may share out parts of its own.
// `idle` may be null: then the calling thread does all of it.
class SharedOut {
 public:
  SharedOut(int64_t count, IdleThreads* idle, const std::function<void(int64_t)>& job)
      : count_(count), idle_(count > 1 ? idle : nullptr), job_(job) {
    work();
    if (idle_) end_helpers();
    if (failure_) std::rethrow_exception(failure_);
  }
  SharedOut(const SharedOut&) = delete;

 private:
  void work() {
    try {
      for (int64_t i; (i = next_.fetch_add(1)) < count_;) {
        if (idle_ && i + 1 < count_ && idle_->take()) add_helper();
        job_(i);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> hold(lock_);
      failure_ = std::current_exception();
      next_ = count_;
    }
  }

  void add_helper() {
    const std::lock_guard<std::mutex> hold(lock_);
    try {
      helpers_.push_back(helper_thread([this] {
        work();
        idle_->give();
      }));
    } catch (const std::exception&) {
      idle_->give();  // If the system refuses more threads, the existing ones share the work.
    }
  }

  // A helper that is still at work may add others, which are then behind it in the list.
  void end_helpers() {
    idle_->give();
    for (;;) {
      std::thread helper;
      {
        const std::lock_guard<std::mutex> hold(lock_);
        if (helpers_.empty()) break;
        helper = std::move(helpers_.back());
        helpers_.pop_back();
      }
      helper.join();
    }
    idle_->take_back();
  }

  int64_t count_;
  IdleThreads* idle_;
  const std::function<void(int64_t)>& job_;
  std::atomic<int64_t> next_{0};
  std::exception_ptr failure_;
  std::mutex lock_;
  std::vector<std::thread> helpers_;
};

}  // namespace hopbytes
