#include "arrays.hpp"

NB_MODULE(_core, m) {
  // Calls would wait for the lock of the main interpreter for ever.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    throw nb::import_error("hopbytes does not run in a sub-interpreter of Python: start a process instead");
  }
  nb::set_leak_warnings(false);
  bind_control(m);
  bind_graph(m);
  bind_repair(m);
  bind_parse(m);
  bind_deep(m);
  bind_engine(m);
  bind_parallel(m);
  bind_fragments(m);
  bind_slots(m);
  bind_slot_groups(m);
  bind_routes(m);
  bind_flows(m);
  bind_waiting(m);
  bind_tabu(m);
  bind_places(m);
  bind_routed(m);
  bind_group(m);
  bind_leaders(m);
  bind_stream(m);
  bind_changing(m);
}
