// The common arguments of searches as Python groups them (hopbytes/engine/problem.py), and their C++ forms.
#pragma once
#include "graph/any_distance.hpp"
#include "graph/csr_build.hpp"
#include "named_settings.hpp"
#include "util/control.hpp"

namespace hopbytes {

struct GraphArrays {
  Csr csr;
  In<int64_t> load;
  int64_t n() const { return csr.n(); }
};
inline auto fields(GraphArrays& r) { return std::tie(r.csr.indptr, r.csr.target, r.csr.weight, r.load); }

// A table, labels and bit costs, or labels and a packed network in `table`.
struct DistanceArrays {
  In<uint64_t> label;
  In<int64_t> bit_cost, table;
};
inline auto fields(DistanceArrays& r) { return std::tie(r.label, r.bit_cost, r.table); }

struct LinearCostArrays {
  In<int64_t> start;
  In<int32_t> block;
  In<int64_t> cost, rest;
};
inline auto fields(LinearCostArrays& r) { return std::tie(r.start, r.block, r.cost, r.rest); }

struct ControlArrays {
  Out<int32_t> flag;  // and, for searches that report it, their progress
  Out<int64_t> counted;  // work and span; may be empty
};
inline auto fields(ControlArrays& r) { return std::tie(r.flag, r.counted); }

inline Control control_of(const ControlArrays& given) {
  const Out<int64_t>& counted = given.counted;
  return Control(given.flag.data(), counted.empty() ? nullptr : counted.data(),
                 counted.size() > 1 ? counted.data() + 1 : nullptr);
}

// Throws unless distances are those of k PEs.
inline void expect_distances(const DistanceArrays& d, size_t k) {
  const bool fits = d.table.empty()   ? d.label.size() == k && d.bit_cost.size() == 65
                    : d.label.empty() ? d.table.size() == k * k
                                      : d.label.size() == k && NetworkDistance::fits(d.table, k);
  expect(fits, "distances");
}

// Calls work(distance) with the distance in its own type.
template <class Work> auto with_distance(const DistanceArrays& d, size_t k, Work work) {
  expect_distances(d, k);
  const auto pes = static_cast<int64_t>(k);
  if (!d.table.empty() && !d.label.empty()) return work(NetworkDistance(d.label.data(), d.table, pes));
  if (!d.table.empty()) return work(TableDistance{d.table.data(), pes});
  return work(TreeDistance{d.label.data(), d.bit_cost.data()});
}

inline AnyDistance any_distance(const DistanceArrays& distances, size_t k) {
  return with_distance(distances, k, [](const auto& distance) { return AnyDistance(distance); });
}

// Returns null without costs.
inline std::shared_ptr<const LinearCost> linear_cost_of(const LinearCostArrays& given, int64_t n) {
  if (given.start.empty()) return nullptr;
  expect_offsets(given.start, given.block.size(), "linear costs");
  expect(given.cost.size() == given.block.size() && std::ssize(given.rest) == n &&
             std::ssize(given.start) == n + 1,
         "linear costs");
  auto linear_cost = std::make_shared<LinearCost>();
  linear_cost->start.assign(given.start.begin(), given.start.end());
  linear_cost->block.assign(given.block.begin(), given.block.end());
  linear_cost->cost.assign(given.cost.begin(), given.cost.end());
  linear_cost->rest.assign(given.rest.begin(), given.rest.end());
  linear_cost->find_kinds();
  return linear_cost;
}

inline void expect_graph(const GraphArrays& given, Team& team = Team::alone()) {
  expect_graph(given.csr, team);
  expect(given.load.empty() || std::ssize(given.load) == given.n(), "arrays of a graph");
}

// Returns a view of arrays with their linear costs.
template <class W> Graph<W> view_of(const GraphArrays& given, const LinearCostArrays& costs, Team& team) {
  Graph<W> graph = graph_view<W>(given.csr, given.load, team);
  graph.linear_cost = linear_cost_of(costs, graph.n);
  return graph;
}

// Calls work(graph), with weights of 32 bits if their sum fits; the threads of the team make the view of it.
template <class Work>
auto on_graph(const GraphArrays& given, const LinearCostArrays& costs, Work work,
              Team& team = Team::alone()) {
  expect_graph(given, team);
  if (fits_32_bits(given.csr, team)) return work(view_of<int32_t>(given, costs, team));
  return work(view_of<int64_t>(given, costs, team));
}

// Calls work(graph, distance). Weights of 32 bits pay off where a distance is computed in registers. Where it
// is read from a table they do not, so the work is compiled for four combinations instead of six.
template <class Work>
auto on_both(const GraphArrays& given, const LinearCostArrays& costs, const DistanceArrays& distances,
             size_t k, Work work) {
  expect_below(costs.block, static_cast<int64_t>(k), "PEs");
  return with_distance(distances, k, [&]<class D>(const D& distance) {
    const auto on = [&](const auto& graph) { return work(graph, distance); };
    if constexpr (std::is_same_v<D, TreeDistance>) {
      return on_graph(given, costs, on);
    } else {
      expect_graph(given);
      return on(view_of<int64_t>(given, costs, Team::alone()));
    }
  });
}

}  // namespace hopbytes

template <> struct nanobind::detail::type_caster<hopbytes::Control> {
  NB_TYPE_CASTER(hopbytes::Control, const_name("control"))
  bool from_python(handle given, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<hopbytes::ControlArrays> read;
    if (!read.from_python(given, flags, cleanup) || read.value.flag.empty()) return false;
    value = hopbytes::control_of(read.value);
    return true;
  }
};
