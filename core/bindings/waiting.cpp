// Binds waiting.hpp.
#include "simulation/waiting.hpp"

#include "arrays.hpp"
#include "checked.hpp"
#include "released_lock.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

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
  expect_below(a.message, std::ssize(a.bytes), "messages", Team::alone());
  expect_below(a.queue, std::ssize(a.bytes), "queues", Team::alone());
  expect_below(a.path, std::ssize(a.latency), "paths", Team::alone());
  for (const int64_t link : a.link) expect(link >= 0 && link < std::ssize(a.capacity), "links of paths");
}

}  // namespace

void bind_waiting(nb::module_& m) {
  m.def(
      "replay_waiting",
      [](InArray<int64_t> first, InArray<uint8_t> kind, InArray<int32_t> message, InArray<uint8_t> protocol,
         InArray<int32_t> queue, InArray<int32_t> path, InArray<double> bytes, InArray<int64_t> start,
         InArray<int64_t> link, InArray<double> share, InArray<double> latency, InArray<double> rate,
         InArray<double> capacity, double tolerance, OutArray<int32_t> flag, OutArray<double> passed,
         OutArray<double> begun, OutArray<double> arrived) {
        const ReleasedLock released;
        const WaitingArrays arrays{in(first), in(kind),  in(message), in(protocol), in(queue), in(path),
                                   in(bytes), in(start), in(link),    in(share),    in(latency), in(rate),
                                   in(capacity)};
        const WaitingTimes times{out(passed), out(begun), out(arrived)};
        check(arrays, times);
        return WaitingReplay(arrays, tolerance, times).run(Control(flag.data()));
      },
      "first"_a.noconvert(), "kinds"_a.noconvert(), "messages"_a.noconvert(), "protocols"_a.noconvert(),
      "queues"_a.noconvert(), "paths"_a.noconvert(), "bytes"_a.noconvert(), "start"_a.noconvert(),
      "links"_a.noconvert(), "shares"_a.noconvert(), "latencies"_a.noconvert(), "rates"_a.noconvert(),
      "capacity"_a.noconvert(), "tolerance"_a, "control"_a.noconvert(), "passed"_a.noconvert(),
      "begun"_a.noconvert(), "arrived"_a.noconvert());
}
