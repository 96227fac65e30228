// The common arguments of searches on a graph, as Python groups them (hopbytes/engine/call.py), and their C++
// forms.
#pragma once
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "control.hpp"
#include "graph_view.hpp"
#include "unary_view.hpp"

namespace hopbytes {

using GraphArrays = std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using DistanceArrays = std::tuple<InArray<uint64_t>, InArray<int64_t>, InArray<int64_t>>;
using UnaryArrays = std::tuple<InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using Steering = std::tuple<OutArray<int32_t>, OutArray<int64_t>>;  // control flag, scanned edges

inline Control control_of(const Steering& steering) {
  return Control(std::get<0>(steering).data(), std::get<1>(steering).data());
}

inline std::shared_ptr<const Unary> unary_of(const UnaryArrays& unary) {
  const auto& [start, block, cost, rest] = unary;
  return read_unary(in(start), in(block), in(cost), in(rest));
}

// Calls work(graph).
template <class Work> auto on_graph(const GraphArrays& graph, const UnaryArrays& unary, Work work) {
  const auto& [start, target, weights, loads] = graph;
  return with_weights(in(start), in(target), in(weights), in(loads), unary_of(unary), std::move(work));
}

// Calls work(distance), for k blocks.
template <class Work> auto on_machine(const DistanceArrays& distances, size_t k, Work work) {
  const auto& [label, bit_cost, table] = distances;
  return with_distance(in(label), in(bit_cost), in(table), k, std::move(work));
}

// Calls work(graph, distance).
template <class Work>
auto on_both(const GraphArrays& graph, const UnaryArrays& unary, const DistanceArrays& distances, size_t k,
             Work work) {
  return on_graph(graph, unary, [&](const auto& view) {
    return on_machine(distances, k, [&](const auto& distance) { return work(view, distance); });
  });
}

}  // namespace hopbytes
