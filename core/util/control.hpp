// How Python stops a running search, how a search reports its work and its span, and which threads it may
// use.
#pragma once
#include <algorithm>
#include <atomic>
#include <vector>

#include "util/team.hpp"

namespace hopbytes {

// Python writes the flag: 0 means continue, anything else means to return soon with the best result so far (a
// deadline or an interrupt). The search counts scanned edges: a measure of work that depends neither on
// clocks nor on threads. The number of threads changes how long a search takes, but not its result.
//
// The span is the part of the work that has to be done in turn even with any number of threads: of ranges or
// searches side by side only the longest counts. Work over span is the average parallelism. Neither depends
// on the number of threads in use: what is counted as side by side are the parts that could be.
class Control {
 public:
  explicit Control(int32_t* flag = nullptr, int64_t* work = nullptr, int64_t* span = nullptr)
      : flag_(flag), work_(work), span_(span) {}
  Control with_team(Team& team) const {
    Control other = *this;
    other.team_ = &team;
    return other;
  }
  Team& team() const { return *team_; }
  int32_t threads() const { return team_->threads(); }
  // The control of a search whose work and span are counted apart.
  Control with_counters(int64_t* work, int64_t* span) const {
    Control other = *this;
    other.work_ = work, other.span_ = span;
    return other;
  }
  // The control of one of several searches side by side, with a span of its own.
  Control with_span(int64_t* span) const {
    Control other = *this;
    other.span_ = span;
    return other;
  }
  // Work that is done in turn.
  void record_work(int64_t arcs) const { record_parallel_work(arcs, arcs); }
  // Work in parts that may be done at the same time; the largest one takes `largest`.
  void record_parallel_work(int64_t arcs, int64_t largest) const {
    add(work_, arcs);
    record_span(largest);
  }
  // The span of searches whose work was recorded by themselves.
  void record_span(int64_t arcs) const { add(span_, arcs); }
  void request_stop() const { std::atomic_ref<int32_t>(*flag_).store(1, std::memory_order_relaxed); }
  bool should_stop() const {
    return flag_ && std::atomic_ref<int32_t>(*flag_).load(std::memory_order_relaxed) != 0;
  }

 private:
  static void add(int64_t* sum, int64_t more) {
    if (sum) std::atomic_ref<int64_t>(*sum).fetch_add(more, std::memory_order_relaxed);
  }

  int32_t* flag_;
  int64_t* work_;
  int64_t* span_;
  Team* team_ = &Team::alone();
};

// The spans of searches that could run at the same time. At the end the longest one counts for the caller.
class SideBySide {
 public:
  SideBySide(const Control& caller, int64_t count) : caller_(caller), span_(count, 0) {}
  SideBySide(const SideBySide&) = delete;
  ~SideBySide() {
    if (!span_.empty()) caller_.record_span(*std::max_element(span_.begin(), span_.end()));
  }
  // The control of search i.
  Control of(int64_t i) { return caller_.with_span(&span_[i]); }

 private:
  Control caller_;
  std::vector<int64_t> span_;
};

}  // namespace hopbytes
