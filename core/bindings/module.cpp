#include "search_arguments.hpp"

// Each of them registers the kernels of the source file of the same name.
void bind_changing(nb::module_&), bind_device(nb::module_&), bind_engine(nb::module_&),
    bind_graph(nb::module_&), bind_networks(nb::module_&), bind_parallel(nb::module_&),
    bind_input(nb::module_&), bind_repair(nb::module_&), bind_slot_groups(nb::module_&),
    bind_slots(nb::module_&), bind_tabu(nb::module_&);

NB_MODULE(_core, m) {
  // Calls would wait for the lock of the main interpreter for ever.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    throw nb::import_error("hopbytes does not run in a sub-interpreter of Python: start a process instead");
  }
  nb::set_leak_warnings(false);
  for (const auto bind : {bind_changing, bind_device, bind_engine, bind_graph, bind_networks, bind_parallel,
                          bind_input, bind_repair, bind_slot_groups, bind_slots, bind_tabu})
    bind(m);
  // Python's own store to the array would be a data race with the searches that read the flag.
  m.def("request_stop", [](hopbytes::Out<int32_t> flag) {
    hopbytes::expect(!flag.empty(), "a control flag and its array");
    hopbytes::Control(flag.data()).request_stop();
  });
}
