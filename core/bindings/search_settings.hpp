// Settings of refinement as Python passes them.
#pragma once

#include "named_settings.hpp"
#include "partition/context.hpp"

namespace hopbytes {

// Reads the fields of Python's SearchSettings.
inline void read_refinement(NamedSettings& settings, RefinementContext& context) {
  settings.read("rounds", context.fm.rounds);
  settings.read("fruitless_moves", context.fm.fruitless_moves);
  settings.read("seeds", context.fm.seeds);
  settings.read("flow_rounds", context.flow.rounds);
  settings.read("flow_width", context.flow.width);
  settings.read("overload_percent", context.overload_percent);
}

}  // namespace hopbytes
