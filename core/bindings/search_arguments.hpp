// What searches on a graph are given, as Python groups it (hopbytes/engine/call.py), and as searches take it.
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
using Steering = std::tuple<OutArray<int32_t>, OutArray<int64_t>>;  // control word, arcs looked at

inline Control control_of(const Steering& steering) {
  return Control(std::get<0>(steering).data(), std::get<1>(steering).data());
}

inline std::shared_ptr<const Unary> unary_of(const UnaryArrays& unary) {
  const auto& [start, block, cost, rest] = unary;
  return read_unary(in(start), in(block), in(cost), in(rest));
}

// Do work(graph).
template <class Work> auto on_graph(const GraphArrays& graph, const UnaryArrays& unary, Work work) {
  const auto& [start, target, weights, loads] = graph;
  return with_weights(in(start), in(target), in(weights), in(loads), unary_of(unary), std::move(work));
}

// Do work(graph, distance). Weights of 32 bits pay where a distance is computed in registers; where it is looked up in
// a table they do not, so that work is compiled for four combinations and not for six.
template <class Work>
auto on_both(const GraphArrays& graph, const UnaryArrays& unary, const DistanceArrays& distances, size_t k,
             Work work) {
  const auto& [label, bit_cost, table] = distances;
  if (table.size() == 0)
    return on_graph(graph, unary,
                    [&](const auto& view) { return work(view, TreeDistance{label.data(), bit_cost.data()}); });
  const auto& [start, target, weights, loads] = graph;
  View<int64_t> view(in(start), in(target), in(weights), in(loads));
  view.graph.unary = unary_of(unary);
  if (label.size() == 0) return work(view.graph, TableDistance{table.data(), static_cast<int64_t>(k)});
  return work(view.graph, NetworkDistance(label.data(), in(table), static_cast<int64_t>(k)));
}

}  // namespace hopbytes
