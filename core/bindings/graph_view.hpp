// Python's arrays as graphs and distances of the engine.
#pragma once
#include <atomic>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "checked.hpp"
#include "graph/any_distance.hpp"
#include "graph/csr.hpp"
#include "graph/graph.hpp"

namespace hopbytes {

// How many weights a thread converts at once.
constexpr int64_t kWeightsPerRange = 1 << 17;

// A view of Python's arrays as a graph of the engine. Weights are copied to 32 bits if their sum fits;
// without weights or loads nothing is stored for them.
template <class W> struct View {
  Buffer<W> weight;
  Graph<W> graph;

  View(In<int64_t> indptr, In<int32_t> target, In<int64_t> weights, In<int64_t> loads,
       Team& team = Team::alone()) {
    expect_graph(indptr, target, weights.size(), loads.size(), team);
    graph.n = static_cast<int64_t>(indptr.size()) - 1;
    graph.start = indptr.data();
    graph.adj = target.data();
    if (!weights.empty()) {
      if constexpr (std::is_same_v<W, int64_t>) {
        graph.weight = Weights(weights.data());
      } else {
        weight = Buffer<W>(std::ssize(weights));
        parallel_ranges(std::ssize(weights), kWeightsPerRange, team,
                        [&](int32_t, int64_t begin, int64_t end) {
                          for (int64_t e = begin; e < end; ++e) weight[e] = static_cast<W>(weights[e]);
                        });
        graph.weight = Weights<W>(weight.data());
      }
    }
    if (!loads.empty()) graph.load = Weights(loads.data());
    graph.sum_loads();
    graph.uneven = weights_uneven(graph, team);
  }
};

inline bool fits_32_bits(In<int64_t> weights, size_t arcs, Team& team) {
  constexpr int64_t most = 0x7fffffff;
  if (weights.empty()) return arcs <= static_cast<size_t>(most);
  std::atomic<int64_t> sum{0};  // at most by `most` too large for each range
  parallel_ranges(std::ssize(weights), kWeightsPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    int64_t total = 0;
    for (int64_t e = begin; e < end && total <= most; ++e)
      total = weights[e] > most ? most + 1 : total + weights[e];
    if (sum.load(std::memory_order_relaxed) <= most) sum += total;
  });
  return sum <= most;
}

// Calls work(graph); the threads of the team make the view.
template <class Work>
auto with_weights(In<int64_t> indptr, In<int32_t> target, In<int64_t> weights, In<int64_t> loads,
                  std::shared_ptr<const LinearCost> linear_cost, Team& team, Work work) {
  if (fits_32_bits(weights, target.size(), team)) {
    View<int32_t> view(indptr, target, weights, loads, team);
    view.graph.linear_cost = std::move(linear_cost);
    return work(view.graph);
  }
  View<int64_t> view(indptr, target, weights, loads, team);
  view.graph.linear_cost = std::move(linear_cost);
  return work(view.graph);
}

template <class Work>
auto with_weights(In<int64_t> indptr, In<int32_t> target, In<int64_t> weights, In<int64_t> loads, Work work) {
  return with_weights(indptr, target, weights, loads, nullptr, Team::alone(), std::move(work));
}

// Calls work(distance) with distances as Python passes them: a table, labels and bit costs, or labels and a
// packed network in `table`.
template <class Work>
auto with_distance(In<uint64_t> label, In<int64_t> bit_cost, In<int64_t> table, size_t k, Work work) {
  expect_distances(label.size(), bit_cost.size(), table.size(), k);
  if (!table.empty() && !label.empty())
    return work(NetworkDistance(label.data(), table, static_cast<int64_t>(k)));
  if (!table.empty()) return work(TableDistance{table.data(), static_cast<int64_t>(k)});
  return work(TreeDistance{label.data(), bit_cost.data()});
}

inline AnyDistance any_distance(In<uint64_t> label, In<int64_t> bit_cost, In<int64_t> table, size_t k) {
  return with_distance(label, bit_cost, table, k, [](const auto& distance) { return AnyDistance(distance); });
}

}  // namespace hopbytes
