// How Python stops compiled code that is at work, and learns how much it did.
#pragma once
#include <atomic>
#include <cstdint>

namespace hopbytes {

// Set from Python: 0 go on, 1 finish quickly (deadline), 2 give up (interrupt). The other way goes how
// many arcs were looked at: a measure of work that depends neither on clocks nor on threads.
class Control {
 public:
  explicit Control(int32_t* flag, int64_t* spent = nullptr) : flag_(flag), spent_(spent) {}
  void spend(int64_t arcs) const {
    if (spent_) std::atomic_ref<int64_t>(*spent_).fetch_add(arcs, std::memory_order_relaxed);
  }
  bool hurry() const { return flag_ && std::atomic_ref<int32_t>(*flag_).load(std::memory_order_relaxed) != 0; }

 private:
  int32_t* flag_;
  int64_t* spent_;
};

}  // namespace hopbytes
