// The common arguments of searches on a graph, as Python groups them (hopbytes/engine/call.py), and their C++
// forms.
#pragma once
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "control.hpp"
#include "graph_view.hpp"
#include "linear_cost_view.hpp"

namespace hopbytes {

using GraphArrays = std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using DistanceArrays = std::tuple<InArray<uint64_t>, InArray<int64_t>, InArray<int64_t>>;
using LinearCostArrays = std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using ControlArrays = std::tuple<OutArray<int32_t>, OutArray<int64_t>>;  // control flag, scanned edges

inline Control control_of(const ControlArrays& control_arrays) {
  return Control(std::get<0>(control_arrays).data(), std::get<1>(control_arrays).data());
}

inline std::shared_ptr<const LinearCost> linear_cost_of(const LinearCostArrays& linear_cost) {
  const auto& [start, block, cost, rest] = linear_cost;
  return read_linear_cost(in(start), in(block), in(cost), in(rest));
}

// Calls work(graph).
template <class Work>
auto on_graph(const GraphArrays& graph, const LinearCostArrays& linear_cost, Work work) {
  const auto& [start, target, weights, loads] = graph;
  return with_weights(in(start), in(target), in(weights), in(loads), linear_cost_of(linear_cost),
                      std::move(work));
}

// Calls work(distance), for k blocks.
template <class Work> auto on_machine(const DistanceArrays& distances, size_t k, Work work) {
  const auto& [label, bit_cost, table] = distances;
  return with_distance(in(label), in(bit_cost), in(table), k, std::move(work));
}

// Calls work(graph, distance).
template <class Work>
auto on_both(const GraphArrays& graph, const LinearCostArrays& linear_cost, const DistanceArrays& distances,
             size_t k, Work work) {
  return on_graph(graph, linear_cost, [&](const auto& view) {
    return on_machine(distances, k, [&](const auto& distance) { return work(view, distance); });
  });
}

}  // namespace hopbytes
