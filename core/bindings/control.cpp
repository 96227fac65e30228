// Binds control.hpp.
#include "util/control.hpp"

#include "arrays.hpp"

using nb::literals::operator""_a;

void bind_control(nb::module_& m) {
  // Python's own store to the array would be a data race with the searches that read the flag.
  m.def(
      "request_stop", [](OutArray<int32_t> control) { hopbytes::Control(control.data()).request_stop(); },
      "control"_a.noconvert());
}
