// Binds waiting.hpp.
#include "simulation/waiting.hpp"

#include "arrays.hpp"
#include "checked.hpp"

using namespace hopbytes;

namespace {

void check(const WaitingArrays& a, const WaitingTimes& times) {
  const size_t messages = a.bytes.size(), paths = a.latency.size();
  expect_offsets(a.first, a.kind.size(), "steps of ranks");
  expect_offsets(a.start, a.link.size(), "links of paths");
  expect(a.message.size() == a.kind.size() && times.passed.size() == a.kind.size(), "steps of ranks");
  expect(a.protocol.size() == messages && a.queue.size() == messages && a.path.size() == messages &&
             times.begun.size() == messages && times.arrived.size() == messages,
         "arrays of messages");
  expect(a.start.size() == paths + 1 && a.rate.size() == paths && a.share.size() == a.link.size(),
         "arrays of paths");
  expect_below(a.message, std::ssize(a.bytes), "messages");
  expect_below(a.queue, std::ssize(a.bytes), "queues");
  expect_below(a.path, std::ssize(a.latency), "paths");
  expect_below(a.link, std::ssize(a.capacity), "links");
}

}  // namespace

void bind_waiting(nb::module_& m) {
  define(m, "replay_waiting",
         [](In<int64_t> first, In<uint8_t> kind, In<int32_t> message, In<uint8_t> protocol, In<int32_t> queue,
            In<int32_t> path, In<double> bytes, In<int64_t> start, In<int64_t> link, In<double> share,
            In<double> latency, In<double> rate, In<double> capacity, double tolerance, Out<int32_t> flag,
            Out<double> passed, Out<double> begun, Out<double> arrived) {
           const WaitingArrays arrays{first, kind, message, protocol, queue, path,    bytes,
                                      start, link, share,   latency,  rate,  capacity};
           const WaitingTimes times{passed, begun, arrived};
           check(arrays, times);
           expect(!flag.empty(), "a control flag and its array");
           return WaitingReplay(arrays, tolerance, times).run(Control(flag.data()));
         });
}
