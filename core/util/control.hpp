// How Python stops a running search, how a search reports the work it did, and how many threads it may use.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace hopbytes {

// Python writes the flag: 0 means continue, anything else means to return soon with the best result so far (a
// deadline or an interrupt). The search counts scanned edges: a measure of work that depends neither on
// clocks nor on threads. The number of threads changes how long a search takes, but not its result.
class Control {
 public:
  explicit Control(int32_t* flag, int64_t* work = nullptr) : flag_(flag), work_(work) {}
  Control with_threads(int32_t threads) const {
    Control other = *this;
    other.threads_ = std::max(1, threads);
    return other;
  }
  // The control of each of `count` searches that run at the same time and share the threads.
  Control shared_by(int64_t count) const {
    return with_threads(static_cast<int32_t>(threads_ / std::max<int64_t>(1, count)));
  }
  int32_t threads() const { return threads_; }
  void record_work(int64_t arcs) const {
    if (work_) std::atomic_ref<int64_t>(*work_).fetch_add(arcs, std::memory_order_relaxed);
  }
  void request_stop() const {
    std::atomic_ref<int32_t>(*flag_).store(1, std::memory_order_relaxed);
  }
  bool should_stop() const {
    return flag_ && std::atomic_ref<int32_t>(*flag_).load(std::memory_order_relaxed) != 0;
  }

 private:
  int32_t* flag_;
  int64_t* work_;
  int32_t threads_ = 1;
};

}  // namespace hopbytes
