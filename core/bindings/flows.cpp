// Binds fair_flows.hpp.
#include "arrays.hpp"
#include "released_lock.hpp"
#include "routing/fair_flows.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_flows(nb::module_& m) {
  m.def(
      "fair_flows",
      [](InArray<int64_t> start, InArray<int64_t> link, InArray<double> share, InArray<double> capacity,
         InArray<double> penalty, InArray<double> wait, double tolerance, int64_t steps,
         OutArray<double> left, OutArray<double> clock) {
        const ReleasedLock released;
        return fair_flows({in(start), in(link), in(share), in(capacity), in(penalty), in(wait)}, tolerance,
                          steps, out(left), out(clock));
      },
      "start"_a.noconvert(), "links"_a.noconvert(), "shares"_a.noconvert(), "capacity"_a.noconvert(),
      "penalty"_a.noconvert(), "wait"_a.noconvert(), "tolerance"_a, "steps"_a, "left"_a.noconvert(),
      "clock"_a.noconvert());
}
