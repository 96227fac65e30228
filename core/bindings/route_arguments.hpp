// Routes as Python passes them: a form and four arrays (see kernels/routes.py).
#pragma once
#include "arrays.hpp"
#include "routing/routes.hpp"

inline hopbytes::RouteArrays route_arrays(const InArray<int64_t>& numbers, const InArray<int32_t>& table,
                                          const InArray<int32_t>& first, const InArray<int32_t>& head) {
  return {in(numbers), in(table), in(first), in(head)};
}
