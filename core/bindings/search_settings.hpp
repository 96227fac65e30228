// Settings of local search as Python passes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flow.hpp"
#include "local_search.hpp"

namespace hopbytes {

// Reads Python's SearchSettings, flattened from position `at` on.
inline void read_search(std::span<const int64_t> set, size_t at, SearchOptions& search, FlowOptions& flow) {
  search.rounds = static_cast<int32_t>(set[at]);
  search.fruitless_moves = static_cast<int32_t>(set[at + 1]);
  search.seeds = static_cast<int32_t>(set[at + 2]);
  flow.rounds = static_cast<int32_t>(set[at + 3]);
  flow.width = static_cast<double>(set[at + 4]);
  search.overload_percent = static_cast<int32_t>(set[at + 5]);
}

}  // namespace hopbytes
