// Graphs whose type of weights is known at run time only, so that code that reads few weights, or much else
// with each of them, is compiled once.
#pragma once
#include "graph/graph.hpp"

namespace hopbytes {

// A view of a graph, which has to outlive it.
struct AnyGraph : GraphShape {
  class AnyWeights {
   public:
    explicit AnyWeights(const Weights<int32_t>& narrow) : narrow_(narrow) {}
    explicit AnyWeights(const Weights<int64_t>& wide) : wide_(wide), is_wide_(true) {}
    int64_t operator[](int64_t e) const { return is_wide_ ? wide_[e] : narrow_[e]; }

   private:
    Weights<int32_t> narrow_;
    Weights<int64_t> wide_;
    bool is_wide_ = false;
  };

  template <class W> AnyGraph(const Graph<W>& g) : GraphShape(g), weight(g.weight) {}

  AnyWeights weight;
};

}  // namespace hopbytes
