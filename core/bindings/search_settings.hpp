// Settings of local search as Python passes them.
#pragma once

#include "flow.hpp"
#include "local_search.hpp"
#include "named_settings.hpp"

namespace hopbytes {

// Reads the fields of Python's SearchSettings.
inline void read_search(NamedSettings& settings, SearchOptions& search, FlowOptions& flow) {
  settings.read("rounds", search.rounds);
  settings.read("fruitless_moves", search.fruitless_moves);
  settings.read("seeds", search.seeds);
  settings.read("flow_rounds", flow.rounds);
  settings.read("flow_width", flow.width);
  settings.read("overload_percent", search.overload_percent);
}

}  // namespace hopbytes
