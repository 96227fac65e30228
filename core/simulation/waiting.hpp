// Ranks that send, receive and wait for each other, as a recorded program does: when each of them passes each
// of its steps. Messages take the latency of their path, then share its links with the others max-min fairly,
// in inverse proportion of latencies. Between two steps no time passes.
// The twin is reference/waiting_reference.py.
#pragma once
#include <compare>

#include "routing/fair_flows.hpp"
#include "util/control.hpp"

namespace hopbytes {

// What a step does with its message: start to send it, be ready to receive it, wait until it has been
// received, or wait until the sender may go on.
enum WaitingStep : uint8_t { kSend, kPost, kReceived, kSent };

// What a message waits for: nothing; its data wait until the receive is posted; and so does its sender.
enum WaitingProtocol : uint8_t { kEager, kDetached, kRendezvous };

struct WaitingArrays {
  // Rank r has the steps first[r] <= s < first[r + 1].
  In<int64_t> first;
  In<uint8_t> kind;
  In<int32_t> message;
  // Of every message. Those of one queue follow each other: one begins when the one before it has ended.
  In<uint8_t> protocol;
  In<int32_t> queue;
  In<int32_t> path;
  In<double> bytes;
  // Path p puts share[e] of its rate on link[e] for start[p] <= e < start[p + 1]; without links it has
  // `rate`.
  In<int64_t> start;
  In<int64_t> link;
  In<double> share;
  In<double> latency;
  In<double> rate;
  In<double> capacity;
};

// When every step was passed, and when the data of every message began to move and had arrived, or infinity.
struct WaitingTimes {
  Out<double> passed;
  Out<double> begun;
  Out<double> arrived;
};

class WaitingReplay {
 public:
  WaitingReplay(const WaitingArrays& arrays, double tolerance, const WaitingTimes& times)
      : a_(arrays),
        t_(times),
        tolerance_(tolerance),
        at_(arrays.first.begin(), arrays.first.end() - 1),
        message_(arrays.bytes.size()),
        speed_(arrays.bytes.size(), 0.0),
        last_(arrays.queue.empty() ? 0 : *std::max_element(arrays.queue.begin(), arrays.queue.end()) + 1, -1),
        links_(arrays.capacity) {
    for (auto times_of : {t_.passed, t_.begun, t_.arrived})
      std::fill(times_of.begin(), times_of.end(), std::numeric_limits<double>::infinity());
  }

  // Returns how many ranks wait for ever.
  int64_t run(const Control& control) {
    for (int64_t rank = 0; rank < std::ssize(at_); ++rank) go_on(static_cast<int32_t>(rank));
    while (!control.should_stop() && advance()) {
    }
    int64_t stuck = 0;
    for (int64_t rank = 0; rank < std::ssize(at_); ++rank) stuck += at_[rank] < a_.first[rank + 1];
    return stuck;
  }

 private:
  // A rank passes steps until one makes it wait.
  void go_on(int32_t rank) {
    for (int64_t& s = at_[rank]; s < a_.first[rank + 1]; ++s) {
      const int32_t m = a_.message[s];
      const bool rendezvous = a_.protocol[m] == kRendezvous, eager = a_.protocol[m] == kEager;
      if (a_.kind[s] == kSend) {
        message_[m].sent = true;
        if (eager || message_[m].posted) begin(m);
      } else if (a_.kind[s] == kPost) {
        message_[m].posted = true;
        if (!eager && message_[m].sent) begin(m);
      } else if (t_.arrived[m] > now_ && (a_.kind[s] == kReceived || rendezvous)) {
        (a_.kind[s] == kReceived ? message_[m].receiver : message_[m].sender) = rank;
        return;
      }
      t_.passed[s] = now_;
    }
  }

  // Events at the same time happen in the order in which they were planned, as messages of a pair have to.
  void plan(double time, int32_t m) { ahead_.push({time, planned_++, m}); }

  void begin(int32_t m) { plan(now_ + a_.latency[a_.path[m]], m); }

  // The latency of a message is over: its data move, unless those of its queue before it still do.
  void move(int32_t m) {
    int32_t& last = last_[a_.queue[m]];
    const int32_t before = std::exchange(last, m);
    if (before >= 0 && !(t_.arrived[before] <= now_)) message_[before].behind = m;
    else start(m);
  }

  void start(int32_t m) {
    t_.begun[m] = now_;
    const int32_t path = a_.path[m];
    message_[m].left = a_.bytes[m];
    if (!(message_[m].left > 0)) return arrive(m);
    if (a_.start[path] == a_.start[path + 1]) {
      plan(now_ + message_[m].left / a_.rate[path], m);
      return;
    }
    active_.push_back(m);
    changed_ = true;
  }

  void arrive(int32_t m) {
    t_.arrived[m] = now_;
    if (message_[m].behind >= 0) start(message_[m].behind);
    if (message_[m].sender >= 0) woken_.push_back(message_[m].sender);
    if (message_[m].receiver >= 0) woken_.push_back(message_[m].receiver);
  }

  // Goes to the next moment at which a latency is over or a message arrives; returns whether there is one.
  bool advance() {
    if (changed_) share_links();
    double next = ahead_.empty() ? std::numeric_limits<double>::infinity() : ahead_.top().time;
    for (const int32_t m : active_) next = std::min(next, now_ + message_[m].left / speed_[m]);
    if (next == std::numeric_limits<double>::infinity()) return false;
    std::vector<int32_t> ended;
    std::erase_if(active_, [&](int32_t m) {
      double& left = message_[m].left;
      const double end = now_ + left / speed_[m];  // of what rounding leaves, no time might pass
      left -= speed_[m] * (next - now_);
      const bool ends = end <= next || left <= tolerance_ * a_.bytes[m];
      if (ends) ended.push_back(m);
      return ends;
    });
    now_ = next;
    changed_ = !ended.empty();
    for (const int32_t m : ended) arrive(m);
    while (!ahead_.empty() && ahead_.top().time <= now_) {
      const int32_t m = ahead_.top().message;
      ahead_.pop();
      if (t_.begun[m] <= now_) arrive(m);
      else move(m);
    }
    while (!woken_.empty()) {
      const int32_t rank = woken_.back();
      woken_.pop_back();
      go_on(rank);
    }
    return true;
  }

  void share_links() {
    const auto entries = [&](int32_t m, const auto& visit) {
      const int32_t path = a_.path[m];
      for (int64_t e = a_.start[path]; e < a_.start[path + 1]; ++e) visit(a_.link[e], a_.share[e]);
    };
    const auto penalty = [&](int32_t m) {
      const double latency = a_.latency[a_.path[m]];
      return latency > 0 ? latency : 1.0;
    };
    links_.share(active_, entries, penalty, speed_);
  }

  struct Message {
    int32_t receiver = -1, sender = -1;  // the ranks that wait for it
    int32_t behind = -1;  // the message of its queue that waits for it
    bool sent = false, posted = false;
    double left = 0;  // bytes that have not arrived
  };
  struct Event {
    double time;
    int64_t number;
    int32_t message;
    auto operator<=>(const Event&) const = default;
  };

  const WaitingArrays& a_;
  WaitingTimes t_;
  double tolerance_, now_ = 0;
  int64_t planned_ = 0;
  bool changed_ = false;
  std::vector<int64_t> at_;  // the next step of every rank
  std::vector<Message> message_;
  std::vector<double> speed_;  // of every message: bytes per second
  std::vector<int32_t> last_;  // of every queue
  FairLinks links_;
  std::vector<int32_t> active_, woken_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> ahead_;
};

}  // namespace hopbytes
