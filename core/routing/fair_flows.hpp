// Flows that share links like a fluid: how long it takes until all of them have ended. Their rates change
// when a flow begins or ends. The twin is reference/fair_flows_reference.py.
#pragma once
#include <queue>

#include "graph/checked.hpp"
#include "util/assert.hpp"

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

// Links whose capacities flows share. Rates are max-min fair under weights 1 / penalty: no flow can get more
// without taking it from one that has no more per weight.
class FairLinks {
 public:
  explicit FairLinks(In<double> capacity)
      : capacity_(capacity), room_(capacity.size()), weight_(capacity.size()), on_link_(capacity.size()) {}

  // Sets the rates of some flows, each of which uses links: entries(flow, visit) calls visit(link, share).
  // The link whose flows get least is full first and decides their rates. What a link could give only rises
  // meanwhile, so an outdated entry of the queue is too small and goes back with its new value.
  template <class Entries, class Penalty>
  void share(const std::vector<int32_t>& flows, const Entries& entries, const Penalty& penalty,
             std::vector<double>& rate) {
    list_users(flows, entries, penalty);
    std::vector<Entry> values;
    values.reserve(used_.size());
    for (const int64_t link : used_) values.emplace_back(room_[link] / weight_[link], link);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>(), std::move(values));
    for (const int32_t flow : flows) rate[flow] = kUndecided;
    double level = 0;
    for (size_t open = flows.size(); open > 0;) {
      HOPBYTES_CHECK(!queue.empty());
      const auto [stored, link] = queue.top();
      queue.pop();
      const double now = std::max(level, room_[link] / weight_[link]);
      if (now > stored) {
        queue.emplace(now, link);
        continue;
      }
      level = stored;
      for (const int32_t flow : on_link_[link]) {
        if (rate[flow] != kUndecided) continue;
        rate[flow] = level / penalty(flow);
        --open;
        entries(flow, [&](int64_t other, double part) {
          room_[other] -= part * rate[flow];
          weight_[other] -= part / penalty(flow);
        });
      }
    }
    for (const int64_t link : used_) on_link_[link].clear();
  }

 private:
  static constexpr double kUndecided = -1;
  using Entry = std::pair<double, int64_t>;  // what a link could give per weight, and its number

  template <class Entries, class Penalty>
  void list_users(const std::vector<int32_t>& flows, const Entries& entries, const Penalty& penalty) {
    used_.clear();
    for (const int32_t flow : flows)
      entries(flow, [&](int64_t link, double part) {
        if (on_link_[link].empty()) used_.push_back(link), room_[link] = capacity_[link], weight_[link] = 0;
        on_link_[link].push_back(flow);
        weight_[link] += part / penalty(flow);
      });
  }

  In<double> capacity_;
  std::vector<double> room_, weight_;
  std::vector<std::vector<int32_t>> on_link_;  // the flows of each link
  std::vector<int64_t> used_;
};

class FairFlows {
 public:
  // left: bytes of every flow, 0 if it has ended. clock: the time, and when the last flow so far has ended.
  FairFlows(const FlowArrays& arrays, Out<double> left, Out<double> clock)
      : a_(arrays), left_(left), clock_(clock), links_(arrays.capacity), rate_(left.size(), 0.0) {
    for (size_t flow = 0; flow < left_.size(); ++flow)
      if (left_[flow] > 0) live_.push_back(static_cast<int32_t>(flow));
  }

  int64_t unfinished() const { return std::ssize(live_); }

  // Goes to the next moment at which a flow begins or ends, or, if that is sooner than `tolerance` times the
  // time so far, by that much: flows that end on the way free their links at the end of the step only.
  void step(double tolerance) {
    share_links();
    double next = std::numeric_limits<double>::infinity();
    for (const int32_t flow : live_) next = std::min(next, waits(flow) ? a_.wait[flow] : ends(flow));
    const double end = std::max(next, clock_[0] * (1 + tolerance)), length = end - clock_[0];
    std::erase_if(live_, [&](int32_t flow) {
      if (waits(flow)) return false;
      const double ended = ends(flow);
      if (ended > end) {
        left_[flow] -= rate_[flow] * length;
        return false;
      }
      left_[flow] = 0;
      clock_[1] = std::max(clock_[1], ended);
      return true;
    });
    clock_[0] = end;
  }

 private:
  bool waits(int32_t flow) const { return a_.wait[flow] > clock_[0]; }
  double ends(int32_t flow) const { return clock_[0] + left_[flow] / rate_[flow]; }

  void share_links() {
    active_.clear();
    for (const int32_t flow : live_) {
      if (waits(flow)) continue;
      if (a_.start[flow] < a_.start[flow + 1]) active_.push_back(flow);
      else rate_[flow] = std::numeric_limits<double>::infinity();
    }
    const auto entries = [&](int32_t flow, const auto& visit) {
      for (int64_t e = a_.start[flow]; e < a_.start[flow + 1]; ++e) visit(a_.link[e], a_.share[e]);
    };
    links_.share(active_, entries, [&](int32_t flow) { return a_.penalty[flow]; }, rate_);
  }

  const FlowArrays& a_;
  Out<double> left_, clock_;
  FairLinks links_;
  std::vector<double> rate_;
  std::vector<int32_t> live_, active_;
};

// Makes at most `steps` steps and returns how many flows have not ended.
inline int64_t fair_flows(const FlowArrays& arrays, double tolerance, int64_t steps, Out<double> left,
                          Out<double> clock) {
  expect_offsets(arrays.start, arrays.link.size(), "flows");
  expect_below(arrays.link, std::ssize(arrays.capacity), "links");
  expect(left.size() + 1 == arrays.start.size() && arrays.share.size() == arrays.link.size() &&
             arrays.penalty.size() == left.size() && arrays.wait.size() == left.size() && clock.size() == 2,
         "flows");
  FairFlows flows(arrays, left, clock);
  for (; steps > 0 && flows.unfinished() > 0; --steps) flows.step(tolerance);
  return flows.unfinished();
}

}  // namespace hopbytes
