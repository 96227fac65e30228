// The common arguments of searches on a graph, as Python groups them (hopbytes/engine/problem.py), and their
// C++ forms.
#pragma once
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "util/control.hpp"
#include "graph_view.hpp"
#include "linear_cost_view.hpp"

namespace hopbytes {

using GraphArrays = std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using DistanceArrays = std::tuple<InArray<uint64_t>, InArray<int64_t>, InArray<int64_t>>;
using LinearCostArrays = std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using ControlArrays = std::tuple<OutArray<int32_t>, OutArray<int64_t>>;  // control flag; work and span

inline Control control_of(const ControlArrays& control_arrays) {
  const OutArray<int64_t>& counted = std::get<1>(control_arrays);
  return Control(std::get<0>(control_arrays).data(), counted.data(),
                 counted.size() > 1 ? counted.data() + 1 : nullptr);
}

inline std::shared_ptr<const LinearCost> linear_cost_of(const LinearCostArrays& linear_cost) {
  const auto& [start, block, cost, rest] = linear_cost;
  return read_linear_cost(in(start), in(block), in(cost), in(rest));
}

// Throws unless `pe` has a PE below k of every vertex of a graph.
inline void expect_placement_of(const GraphArrays& graph, std::span<const int32_t> pe, size_t k) {
  expect_placement(pe, std::get<0>(graph).size() - 1, static_cast<int64_t>(k));
}

// Calls work(graph); the threads of the team make the view of the graph.
template <class Work>
auto on_graph(const GraphArrays& graph, const LinearCostArrays& linear_cost, Work work,
              Team& team = Team::alone()) {
  const auto& [start, target, weights, loads] = graph;
  return with_weights(in(start), in(target), in(weights), in(loads), linear_cost_of(linear_cost), team,
                      std::move(work));
}

// Calls work(graph, distance). Weights of 32 bits pay off where a distance is computed in registers. Where it
// is read from a table they do not, so the work is compiled for four combinations instead of six.
template <class Work>
auto on_both(const GraphArrays& graph, const LinearCostArrays& linear_cost, const DistanceArrays& distances,
             size_t k, Work work) {
  const auto& [label, bit_cost, table] = distances;
  expect_distances(label.size(), bit_cost.size(), table.size(), k);
  if (table.size() == 0)
    return on_graph(graph, linear_cost, [&](const auto& view) {
      return work(view, TreeDistance{label.data(), bit_cost.data()});
    });
  const auto& [start, target, weights, loads] = graph;
  View<int64_t> view(in(start), in(target), in(weights), in(loads));
  view.graph.linear_cost = linear_cost_of(linear_cost);
  if (label.size() == 0) return work(view.graph, TableDistance{table.data(), static_cast<int64_t>(k)});
  return work(view.graph, NetworkDistance(label.data(), in(table), static_cast<int64_t>(k)));
}

}  // namespace hopbytes
