// Binds csr_build.hpp, csr_checks.hpp, cost.hpp, group_sums.hpp, bandwidth_order.hpp and weights_uneven of
// graph.hpp.
#include <nanobind/stl/pair.h>

#include "graph/bandwidth_order.hpp"
#include "graph/cost.hpp"
#include "graph/csr_build.hpp"
#include "graph/csr_checks.hpp"
#include "graph/group_sums.hpp"
#include "search_arguments.hpp"
#include "util/team.hpp"

using namespace hopbytes;

void bind_graph(nb::module_& m) {
  define(m, "check_csr", [](In<int64_t> indptr, In<int32_t> target, int32_t threads) {
    expect(!indptr.empty(), "rows of a graph");
    return check_csr(indptr, target, TeamOfCall(threads));
  });
  define(m, "has_diagonal", [](In<int64_t> indptr, In<int32_t> target, int32_t threads) {
    const TeamOfCall team(threads);
    expect_graph(Csr{indptr, target, {}}, team);
    return has_diagonal(indptr, target, team);
  });
  define(m, "wide_sum", [](In<int64_t> values, int32_t threads) {
    const __int128 total = wide_sum(values, TeamOfCall(threads));
    return std::pair(static_cast<int64_t>(total >> 32), static_cast<int64_t>(total & 0xffffffff));
  });
  define(
      m, "csr_from_arcs",
      [](In<int32_t> source, In<int32_t> target, In<int64_t> volume, In<int64_t> messages,
         Out<int64_t> indptr, Out<int32_t> out_target, Out<int64_t> out_volume, Out<int64_t> out_messages) {
        const size_t m = source.size();
        expect(!indptr.empty() && target.size() == m && volume.size() == m && out_target.size() == m &&
                   out_volume.size() == m && messages.size() == out_messages.size() &&
                   (messages.empty() || messages.size() == m),
               "arcs");
        expect_below(source, std::ssize(indptr) - 1, "sources");
        expect_below(target, std::ssize(indptr) - 1, "targets");
        return csr_from_arcs(source, target, volume, messages, indptr, out_target, out_volume, out_messages);
      });
  define(m, "symmetrize",
         [](const Csr& arcs, int32_t threads, Out<int64_t> indptr, Out<int32_t> target, Out<int64_t> weight) {
           const TeamOfCall team(threads);
           expect_graph(arcs, team);
           expect(indptr.size() == arcs.indptr.size() && target.size() == 2 * arcs.target.size() &&
                      weight.size() == target.size(),
                  "arcs of both directions");
           return Symmetrization(arcs, team).write(indptr, target, weight);
         });
  define(m, "find_asymmetry", [](const Csr& arcs, int32_t threads) {
    const TeamOfCall team(threads);
    expect_graph(arcs, team);
    return find_asymmetry(arcs, team);
  });
  define(m, "reverse_cuthill_mckee", [](const Csr& graph, Out<int32_t> order) {
    expect_graph(graph);
    expect(std::ssize(order) == graph.n(), "a graph and an order");
    reverse_cuthill_mckee(graph, order);
  });
  define(m, "weights_uneven", [](const Csr& graph) {
    return on_graph({graph, {}}, {}, [](const auto& view) { return view.uneven; });
  });
  define(m, "induced_csr",
         [](const Csr& graph, In<int32_t> members, In<int32_t> place, Out<int64_t> indptr,
            Out<int32_t> target, Out<int64_t> weight) {
           expect_graph(graph);
           expect_below(members, graph.n(), "members");
           int64_t arcs = 0;
           for (const int32_t v : members) arcs += graph.indptr[v + 1] - graph.indptr[v];
           expect(std::ssize(place) == graph.n() && indptr.size() == members.size() + 1 &&
                      std::ssize(target) == arcs && (graph.weight.empty() || weight.size() == target.size()),
                  "arrays of a subgraph");
           return induced_csr(graph, members, place, indptr, target, weight);
         });
  define(m, "volume_by_level",
         [](const Csr& arcs, In<int32_t> pe, In<uint64_t> label, In<uint8_t> level_of_bit, int32_t threads,
            Out<int64_t> result) {
           const TeamOfCall team(threads);
           expect_placed_rows(arcs, pe, std::ssize(label), team);
           expect(level_of_bit.size() == 65, "labels");
           expect_below(level_of_bit, std::ssize(result), "levels");
           volume_by_level(arcs, pe, label, level_of_bit, team, result);
         });
  define(m, "comm_cost_table", [](const Csr& arcs, In<int32_t> pe, In<int64_t> table, int32_t threads) {
    const TeamOfCall team(threads);
    int64_t k = 0;
    while (k * k < std::ssize(table)) ++k;
    expect(k * k == std::ssize(table), "distances");
    expect_placed_rows(arcs, pe, k, team);
    return comm_cost_table(arcs, pe, table, k, team);
  });
  define(m, "comm_cost_network",
         [](const Csr& arcs, In<int32_t> pe, In<uint64_t> label, In<int64_t> packed, int32_t threads) {
           const TeamOfCall team(threads);
           expect(!packed.empty(), "distances");
           expect_placed_rows(arcs, pe, std::ssize(label), team);
           expect_distances({label, {}, packed}, label.size());
           return comm_cost(arcs, pe, NetworkDistance(label.data(), packed, std::ssize(label)), team);
         });
  define(m, "block_weights",
         [](const Csr& graph, In<int32_t> block, int64_t blocks, int32_t threads, Out<int64_t> sums,
            Out<uint8_t> seen) {
           const TeamOfCall team(threads);
           expect_placed_rows(graph, block, blocks, team);
           expect(std::ssize(sums) == blocks * blocks && seen.size() == sums.size(), "sums of blocks");
           block_weights(graph, block, blocks, team, sums, seen);
         });
  define(m, "group_sums", [](In<int32_t> group, In<int64_t> value, int32_t threads, Out<int64_t> sums) {
    // Starting threads takes longer than summing few items.
    const TeamOfCall team(group.size() < (1 << 15) ? 1 : threads);
    expect(value.empty() || value.size() == group.size(), "values");
    expect_below(group, std::ssize(sums), "groups", team);
    group_sums(group, value.empty() ? Weights<int64_t>() : Weights(value.data()), team, sums);
  });
}
