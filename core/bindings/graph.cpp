// Binds csr.hpp, csr_checks.hpp, symmetrize.hpp, cost.hpp, group_sums.hpp, block_weights.hpp,
// bandwidth_order.hpp and weights_uneven of graph.hpp.
#include "graph/bandwidth_order.hpp"
#include "arrays.hpp"
#include <nanobind/stl/pair.h>
#include "graph/block_weights.hpp"
#include "graph/cost.hpp"
#include "graph/csr.hpp"
#include "graph/csr_checks.hpp"
#include "graph/group_sums.hpp"
#include "graph/symmetrize.hpp"
#include "graph_view.hpp"
#include "released_lock.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using Release = nb::call_guard<ReleasedLock>;

void bind_graph(nb::module_& m) {
  m.def(
      "check_csr",
      [](InArray<int64_t> indptr, InArray<int32_t> target, int32_t threads) {
        const TeamOfCall team(threads);
        return check_csr(in(indptr), in(target), team);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "threads"_a, Release());
  m.def(
      "has_diagonal",
      [](InArray<int64_t> indptr, InArray<int32_t> target, int32_t threads) {
        const TeamOfCall team(threads);
        expect_graph(in(indptr), in(target), 0, 0, team);
        return has_diagonal(in(indptr), in(target), team);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "threads"_a, Release());
  m.def(
      "wide_sum",
      [](InArray<int64_t> values, int32_t threads) {
        const TeamOfCall team(threads);
        const __int128 total = wide_sum(in(values), team);
        return std::pair<int64_t, int64_t>(static_cast<int64_t>(total >> 32),
                                           static_cast<int64_t>(total & 0xffffffff));
      },
      "values"_a.noconvert(), "threads"_a, Release());
  m.def(
      "csr_from_arcs",
      [](InArray<int32_t> source, InArray<int32_t> target, InArray<int64_t> volume, InArray<int64_t> messages,
         OutArray<int64_t> indptr, OutArray<int32_t> out_target, OutArray<int64_t> out_volume,
         OutArray<int64_t> out_messages) {
        const size_t m = source.size();
        expect(target.size() == m && volume.size() == m && out_target.size() == m && out_volume.size() == m &&
                   messages.size() == out_messages.size() && (messages.size() == 0 || messages.size() == m),
               "arcs");
        const auto n = static_cast<int64_t>(indptr.size()) - 1;
        expect_below(in(source), n, "sources", Team::alone());
        expect_below(in(target), n, "targets", Team::alone());
        return csr_from_arcs(in(source), in(target), in(volume), in(messages), out(indptr), out(out_target),
                             out(out_volume), out(out_messages));
      },
      "sources"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "messages"_a.noconvert(),
      "indptr"_a.noconvert(), "out_targets"_a.noconvert(), "out_volumes"_a.noconvert(),
      "out_messages"_a.noconvert(), Release());
  m.def(
      "symmetrize",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume, int32_t threads,
         OutArray<int64_t> out_indptr, OutArray<int32_t> out_target, OutArray<int64_t> out_weight) {
        const TeamOfCall team(threads);
        expect_graph(in(indptr), in(target), volume.size(), 0, team);
        return Symmetrization({in(indptr), in(target), in(volume)}, team)
            .write(out(out_indptr), out(out_target), out(out_weight));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "threads"_a,
      "out_indptr"_a.noconvert(), "out_targets"_a.noconvert(), "out_weights"_a.noconvert(), Release());
  m.def(
      "find_asymmetry",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume, int32_t threads) {
        const TeamOfCall team(threads);
        expect_graph(in(indptr), in(target), volume.size(), 0, team);
        return find_asymmetry({in(indptr), in(target), in(volume)}, team);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "threads"_a, Release());
  m.def(
      "reverse_cuthill_mckee",
      [](InArray<int64_t> indptr, InArray<int32_t> target, OutArray<int32_t> order) {
        expect_graph(in(indptr), in(target), 0, 0);
        reverse_cuthill_mckee({in(indptr), in(target), {}}, out(order));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "order"_a.noconvert(), Release());
  m.def(
      "weights_uneven",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight) {
        return with_weights(in(indptr), in(target), in(weight), {}, [](const auto& g) { return g.uneven; });
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), Release());
  m.def(
      "induced_csr",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int32_t> members,
         InArray<int32_t> place, OutArray<int64_t> out_indptr, OutArray<int32_t> out_target,
         OutArray<int64_t> out_weight) {
        expect_graph(in(indptr), in(target), weight.size(), 0);
        return induced_csr({in(indptr), in(target), in(weight)}, in(members), in(place), out(out_indptr),
                           out(out_target), out(out_weight));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "members"_a.noconvert(),
      "place"_a.noconvert(), "out_indptr"_a.noconvert(), "out_targets"_a.noconvert(),
      "out_weights"_a.noconvert(), Release());
  m.def(
      "volume_by_level",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume, InArray<int32_t> pe,
         InArray<uint64_t> label, InArray<uint8_t> level_of_bit, int32_t threads, OutArray<int64_t> result) {
        const TeamOfCall team(threads);
        const auto k = static_cast<int64_t>(label.size());
        expect_placed_rows(in(indptr), in(target), volume.size(), in(pe), k, team);
        expect(level_of_bit.size() == 65, "labels");
        expect(*std::max_element(level_of_bit.data(), level_of_bit.data() + 65) < result.size(), "levels");
        volume_by_level({in(indptr), in(target), in(volume)}, in(pe), in(label), in(level_of_bit), team,
                        out(result));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "pe"_a.noconvert(),
      "labels"_a.noconvert(), "level_of_bit"_a.noconvert(), "threads"_a, "out"_a.noconvert(), Release());
  m.def(
      "comm_cost_table",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume, InArray<int32_t> pe,
         InArray<int64_t> table, int32_t threads) {
        const TeamOfCall team(threads);
        int64_t k = 0;
        while (k * k < static_cast<int64_t>(table.size())) ++k;
        expect(k * k == static_cast<int64_t>(table.size()), "distances");
        expect_placed_rows(in(indptr), in(target), volume.size(), in(pe), k, team);
        return comm_cost_table({in(indptr), in(target), in(volume)}, in(pe), in(table), k, team);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "pe"_a.noconvert(),
      "table"_a.noconvert(), "threads"_a, Release());
  m.def(
      "comm_cost_network",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> volume, InArray<int32_t> pe,
         InArray<uint64_t> label, InArray<int64_t> packed, int32_t threads) {
        const TeamOfCall team(threads);
        const auto k = static_cast<int64_t>(label.size());
        expect_placed_rows(in(indptr), in(target), volume.size(), in(pe), k, team);
        expect_distances(label.size(), 0, packed.size(), label.size());
        const NetworkDistance distance(label.data(), in(packed), static_cast<int64_t>(label.size()));
        return comm_cost({in(indptr), in(target), in(volume)}, in(pe), distance, team);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "volumes"_a.noconvert(), "pe"_a.noconvert(),
      "labels"_a.noconvert(), "packed"_a.noconvert(), "threads"_a, Release());
  m.def(
      "block_weights",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int32_t> block,
         int64_t blocks, int32_t threads, OutArray<int64_t> sums, OutArray<uint8_t> seen) {
        const TeamOfCall team(threads);
        expect_placed_rows(in(indptr), in(target), weight.size(), in(block), blocks, team);
        block_weights({in(indptr), in(target), in(weight)}, in(block), blocks, team, out(sums), out(seen));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "blocks"_a.noconvert(),
      "count"_a, "threads"_a, "sums"_a.noconvert(), "seen"_a.noconvert(), Release());
  m.def(
      "group_sums",
      [](InArray<int32_t> group, InArray<int64_t> value, int32_t threads, OutArray<int64_t> sums) {
        // Starting threads takes longer than summing few items.
        const TeamOfCall team(group.size() < (1 << 15) ? 1 : threads);
        const std::span<const int64_t> values = in(value);
        expect(values.empty() || values.size() == group.size(), "values");
        expect_below(in(group), static_cast<int64_t>(sums.size()), "groups", team);
        group_sums(in(group), values.empty() ? Weights<int64_t>() : Weights(values.data()), team, out(sums));
      },
      "groups"_a.noconvert(), "values"_a.noconvert(), "threads"_a, "sums"_a.noconvert(), Release());
}
