// Flows that share links like a fluid: how long it takes until all of them have ended. At every moment
// rates are max-min fair under weights 1 / penalty: no flow can get more without taking it from one that has
// no more per weight. They change when a flow begins or ends. The twin is reference/fair_flows_reference.py.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "graph/csr.hpp"

namespace hopbytes {

// Flow i puts share[e] of its rate on link[e] for start[i] <= e < start[i + 1], and nothing before wait[i].
struct FlowArrays {
  In<int64_t> start;
  In<int64_t> link;
  In<double> share;
  In<double> capacity;
  In<double> penalty;
  In<double> wait;
};

class FairFlows {
 public:
  // left: bytes of every flow, 0 if it has ended. clock: the time, and when the last flow so far has ended.
  FairFlows(const FlowArrays& arrays, std::span<double> left, std::span<double> clock)
      : a_(arrays),
        left_(left),
        clock_(clock),
        rate_(left.size(), 0.0),
        room_(arrays.capacity.size()),
        weight_(room_.size()),
        open_(room_.size()),
        first_(room_.size() + 1, 0) {
    for (size_t flow = 0; flow < left_.size(); ++flow)
      if (left_[flow] > 0) live_.push_back(static_cast<int64_t>(flow));
    list_flows_of_links();
  }

  int64_t unfinished() const { return static_cast<int64_t>(live_.size()); }

  // Goes to the next moment at which a flow begins or ends, or, if that is sooner than `tolerance` times the
  // time so far, by that much: flows that end on the way free their links at the end of the step only.
  void step(double tolerance) {
    share_links();
    double next = std::numeric_limits<double>::infinity();
    for (const int64_t flow : live_)
      next = std::min(next, waits(flow) ? a_.wait[flow] : clock_[0] + left_[flow] / rate_[flow]);
    const double end = std::max(next, clock_[0] * (1 + tolerance)), length = end - clock_[0];
    size_t kept = 0;
    for (const int64_t flow : live_) {
      if (!waits(flow)) {
        const double ended = clock_[0] + left_[flow] / rate_[flow];
        if (ended <= end) {
          left_[flow] = 0;
          clock_[1] = std::max(clock_[1], ended);
          continue;
        }
        left_[flow] -= rate_[flow] * length;
      }
      live_[kept++] = flow;
    }
    live_.resize(kept);
    clock_[0] = end;
  }

 private:
  bool waits(int64_t flow) const { return a_.wait[flow] > clock_[0]; }

  template <class Visit> void entries(int64_t flow, Visit&& visit) const {
    for (int64_t e = a_.start[flow]; e < a_.start[flow + 1]; ++e) visit(a_.link[e], a_.share[e]);
  }

  void list_flows_of_links() {
    for (const int64_t flow : live_) entries(flow, [&](int64_t link, double) { ++first_[link + 1]; });
    for (size_t link = 0; link < room_.size(); ++link) first_[link + 1] += first_[link];
    flows_.resize(first_.back());
    std::vector<int64_t> next(first_.begin(), first_.end() - 1);
    for (const int64_t flow : live_)
      entries(flow, [&](int64_t link, double) { flows_[next[link]++] = flow; });
  }

  // Fills links: the one whose flows get least is full first and decides their rates. What a link could give
  // only rises meanwhile, so a stale entry of the queue is too small and goes back with its new value.
  void share_links() {
    std::fill(open_.begin(), open_.end(), 0);
    std::fill(weight_.begin(), weight_.end(), 0.0);
    for (const int64_t flow : live_) {
      rate_[flow] = 0;
      if (waits(flow)) continue;
      entries(flow, [&](int64_t link, double share) {
        ++open_[link];
        weight_[link] += share / a_.penalty[flow];
      });
      if (a_.start[flow] == a_.start[flow + 1]) rate_[flow] = std::numeric_limits<double>::infinity();
    }
    using Entry = std::pair<double, int64_t>;
    std::vector<Entry> full;
    for (size_t link = 0; link < room_.size(); ++link) {
      room_[link] = a_.capacity[link];
      if (open_[link] > 0) full.emplace_back(room_[link] / weight_[link], static_cast<int64_t>(link));
    }
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>(), std::move(full));
    double level = 0;
    while (!queue.empty()) {
      const auto [stored, link] = queue.top();
      queue.pop();
      if (open_[link] == 0) continue;
      const double now = std::max(level, room_[link] / weight_[link]);
      if (now > stored * (1 + 1e-12)) {
        queue.emplace(now, link);
        continue;
      }
      level = now;
      for (int64_t e = first_[link]; e < first_[link + 1]; ++e) decide(flows_[e], level);
    }
  }

  void decide(int64_t flow, double level) {
    if (rate_[flow] > 0 || left_[flow] == 0 || waits(flow)) return;
    rate_[flow] = level / a_.penalty[flow];
    entries(flow, [&](int64_t link, double share) {
      --open_[link];
      room_[link] -= share * rate_[flow];
      weight_[link] -= share / a_.penalty[flow];
    });
  }

  const FlowArrays& a_;
  std::span<double> left_, clock_;
  std::vector<double> rate_, room_, weight_;
  std::vector<int64_t> open_, first_, flows_, live_;
};

// Makes at most `steps` steps and returns how many flows have not ended.
inline int64_t fair_flows(const FlowArrays& arrays, double tolerance, int64_t steps, std::span<double> left,
                          std::span<double> clock) {
  FairFlows flows(arrays, left, clock);
  for (; steps > 0 && flows.unfinished() > 0; --steps) flows.step(tolerance);
  return flows.unfinished();
}

}  // namespace hopbytes
