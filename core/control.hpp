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
