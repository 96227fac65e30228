// Graphs whose edges weigh 1 each, without an array of weights.
#pragma once
#include "graph/graph.hpp"

namespace hopbytes {

struct UnitWeight {};

template <> struct Graph<UnitWeight> : GraphShape {
  struct Ones {
    int32_t operator[](int64_t) const { return 1; }
    void prefetch(int64_t) const {}
  };
  Ones weight;
};

}  // namespace hopbytes
