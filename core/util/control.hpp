// How Python stops a running search, and how a search reports the work it did.
#pragma once
#include <atomic>
#include <cstdint>

namespace hopbytes {

// Python writes the flag: 0 means continue, anything else means to return soon with the best result so far (a
// deadline or an interrupt). The search counts scanned edges: a measure of work that depends neither on
// clocks nor on threads.
class Control {
 public:
  explicit Control(int32_t* flag, int64_t* work = nullptr) : flag_(flag), work_(work) {}
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
};

}  // namespace hopbytes
