// Binds csr_build.hpp, csr_checks.hpp, cost.hpp, group_sums.hpp and weights_uneven of graph/, and group.hpp.
#include <nanobind/stl/pair.h>

#include "graph/cost.hpp"
#include "graph/csr_checks.hpp"
#include "graph/group_sums.hpp"
#include "grouping/group.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

void bind_graph(nb::module_& m) {
  define(m, "check_csr", check_csr);
  define(m, "has_diagonal", has_diagonal);
  define(m, "csr_from_arcs", csr_from_arcs);
  define(m, "find_asymmetry", find_asymmetry);
  define(m, "reverse_cuthill_mckee", reverse_cuthill_mckee);
  define(m, "induced_csr", induced_csr);
  define(m, "volume_by_level", volume_by_level);
  define(m, "comm_cost_table", comm_cost_table);
  define(m, "block_weights", block_weights);
  define(m, "unit_traffic", unit_traffic);
  define(m, "wide_sum", [](In<int64_t> values, Team& team) {
    const __int128 total = wide_sum(values, team);
    return std::pair(static_cast<int64_t>(total >> 32), static_cast<int64_t>(total & 0xffffffff));
  });
  define(m, "symmetrize",
         [](const Csr& arcs, Team& team, Out<int64_t> indptr, Out<int32_t> target, Out<int64_t> weight) {
           expect_graph(arcs, team);
           expect(indptr.size() == arcs.indptr.size() && target.size() == 2 * arcs.target.size() &&
                      weight.size() == target.size(),
                  "arcs of both directions");
           return Symmetrization(arcs, team).write(indptr, target, weight);
         });
  define(m, "weights_uneven", [](const Csr& graph) {
    return on_graph({graph, {}}, {}, [](const auto& view) { return view.uneven; });
  });
  define(m, "comm_cost_network",
         [](const Csr& arcs, In<int32_t> pe, In<uint64_t> label, In<int64_t> packed, Team& team) {
           expect(!packed.empty(), "distances");
           expect_placed_rows(arcs, pe, std::ssize(label), team);
           expect_distances({label, {}, packed}, label.size());
           return comm_cost(arcs, pe, NetworkDistance(label.data(), packed, std::ssize(label)), team);
         });
  define(m, "group_sums", [](In<int32_t> group, In<int64_t> value, Team& given, Out<int64_t> sums) {
    constexpr size_t few = 1 << 15;  // are summed in less time than threads need to start
    Team& team = group.size() < few ? Team::alone() : given;
    expect(value.empty() || value.size() == group.size(), "values");
    expect_below(group, std::ssize(sums), "groups", team);
    group_sums(group, value.empty() ? Weights<int64_t>() : Weights(value.data()), team, sums);
  });
  define(m, "group_objects",
         [](const Csr& graph, int64_t arity, int64_t list_up_to, int64_t credit, Out<int32_t> group,
            Team& team) {
           expect_graph(graph);
           expect(
               std::ssize(group) == graph.n() && arity > 0 && (arity >= graph.n() || graph.n() % arity == 0),
               "groups");
           return static_cast<int>(group_objects(graph, arity, list_up_to, credit, group, team));
         });
}
