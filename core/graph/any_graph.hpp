// Graphs whose type of weights is known at run time only, so that code that reads few weights, or much else
// with each of them, is compiled once.
#pragma once
#include <cstdint>

#include "graph/graph.hpp"

namespace hopbytes {

// A view of a graph, which has to outlive it.
struct AnyGraph : GraphShape {
  class Weights {
   public:
    explicit Weights(const int32_t* narrow) : narrow_(narrow) {}
    explicit Weights(const int64_t* wide) : wide_(wide) {}
    int64_t operator[](int64_t e) const { return narrow_ ? narrow_[e] : wide_[e]; }

   private:
    const int32_t* narrow_ = nullptr;
    const int64_t* wide_ = nullptr;
  };

  template <class W> AnyGraph(const Graph<W>& g) : GraphShape(g), weight(g.weight) {}

  Weights weight;
};

}  // namespace hopbytes
