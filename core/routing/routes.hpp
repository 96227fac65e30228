// Routes through a network as data: what all forms share. Every form is a struct with
//   bool walk(source, target, visit)   calls visit(link, numerator, denominator) for every link a flow takes;
//                                      returns false if there is no route;
//   int64_t hops(source, target)       links of a shortest route that the form offers, -1 if there is none;
//   bool single_path()                 whether every flow takes one path with its full volume;
//   int64_t endpoints()                number of sources and targets.
// Sources and targets are endpoints (adapters). A flow on a single path uses every link with share 1/1. A
// flow that is spread over several paths may visit a link several times; the shares of links at equal depth
// sum to 1. The forms are defined in grid_routes.hpp, table_routes.hpp and hierarchy_routes.hpp;
// any_routes.hpp chooses among them.
#pragma once
#include <cstdint>

#include "graph/csr.hpp"

namespace hopbytes {

// The shares of flows that split at every vertex are multiples of 1 / kWholeFlow. Remainders go to the later
// links, so that the shares sum to 1 exactly.
inline constexpr int64_t kWholeFlow = int64_t{1} << 40;

// Returns part number `turn` of `share` divided into `count` > turn parts that differ by at most one.
inline int64_t even_part(int64_t share, int64_t turn, int64_t count) {
  return share * (turn + 1) / count - share * turn / count;  // NOLINT(clang-analyzer-core.DivideZero)
}

// Routes as Python passes them. The contents of the arrays depend on the form and are described at each form.
struct RouteArrays {
  int64_t form = 0;  // its number in FORMS of kernels/routes.py
  In<int64_t> numbers;
  In<int32_t> table;
  In<int32_t> first;
  In<int32_t> head;
};

// One link of a route with the share of the flow it carries.
struct Step {
  int32_t link;
  int64_t part, parts;
};

}  // namespace hopbytes
