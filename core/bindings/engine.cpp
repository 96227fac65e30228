// partition.hpp, refine.hpp and coarse_levels.hpp
#include <algorithm>

#include "coarse_levels.hpp"
#include "graph_view.hpp"
#include "partition.hpp"
#include "refine.hpp"
#include "unary_view.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

// How Python's SearchSettings are flattened, from position `at` on.
void read_search(std::span<const int64_t> set, size_t at, SearchOptions& search, FlowOptions& flow) {
  search.rounds = static_cast<int32_t>(set[at]);
  search.patience = static_cast<int32_t>(set[at + 1]);
  search.seeds = static_cast<int32_t>(set[at + 2]);
  flow.rounds = static_cast<int32_t>(set[at + 3]);
  flow.width = static_cast<double>(set[at + 4]);
  search.venture_percent = static_cast<int32_t>(set[at + 5]);
}

}  // namespace

void bind_engine(nb::module_& m) {
  m.def("partition_many",
        [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weights, InArray<int64_t> loads,
           InArray<int32_t> group, InArray<int64_t> cap_start, InArray<int64_t> cap, InArray<uint64_t> seed,
           InArray<int32_t> candidates, InArray<int64_t> settings, OutArray<int32_t> control, OutArray<int64_t> spent,
           InArray<int64_t> u_start, InArray<int32_t> u_block, InArray<int64_t> u_cost, InArray<int64_t> u_rest,
           OutArray<int32_t> child, OutArray<int64_t> cut) {
          const auto set = in(settings);
          ManyOptions options;
          options.runs = static_cast<int32_t>(set[0]);
          options.combines = static_cast<int32_t>(set[1]);
          options.threads = static_cast<int32_t>(set[2]);
          options.partition.tries = static_cast<int32_t>(set[3]);
          options.partition.middle = static_cast<int32_t>(set[4]);
          options.partition.coarsest = static_cast<int32_t>(set[5]);
          options.partition.growths = static_cast<int32_t>(set[6]);
          options.partition.combines = static_cast<int32_t>(set[7]);
          options.bisections = static_cast<int32_t>(set[8]);
          read_search(set, 9, options.partition.search, options.partition.flow);
          options.finished = control.size() > 1 ? control.data() + 1 : nullptr;
          nb::gil_scoped_release release;
          with_weights(in(indptr), in(target), in(weights), in(loads),
                       read_unary(in(u_start), in(u_block), in(u_cost), in(u_rest)), [&](const auto& graph) {
            partition_many(graph, in(group), in(cap_start), in(cap), in(seed), in(candidates), options,
                           Control(control.data(), spent.data()), out(child), out(cut));
          });
        },
        "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "loads"_a.noconvert(),
        "group"_a.noconvert(), "cap_start"_a.noconvert(), "caps"_a.noconvert(), "seeds"_a.noconvert(),
        "candidates"_a.noconvert(), "settings"_a.noconvert(), "control"_a.noconvert(), "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "child"_a.noconvert(),
        "cut"_a.noconvert());
  m.def("refine_placement",
        [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weights, InArray<int64_t> loads,
           InArray<uint64_t> label, InArray<int64_t> bit_cost, InArray<int64_t> table, InArray<int64_t> cap,
           uint64_t seed, InArray<int64_t> settings, InArray<int32_t> others, OutArray<int32_t> control,
           OutArray<int64_t> spent,
           InArray<int64_t> u_start, InArray<int32_t> u_block, InArray<int64_t> u_cost, InArray<int64_t> u_rest, OutArray<int32_t> pe) {
          const auto set = in(settings);
          RefineOptions options;
          options.cycles = static_cast<int32_t>(set[0]);
          options.coarsest = static_cast<int32_t>(set[1]);
          read_search(set, 2, options.search, options.flow);
          options.chains = static_cast<int32_t>(set[8]);
          options.threads = static_cast<int32_t>(set[9]);
          options.others = in(others);
          nb::gil_scoped_release release;
          return with_weights(in(indptr), in(target), in(weights), in(loads),
                       read_unary(in(u_start), in(u_block), in(u_cost), in(u_rest)), [&](const auto& graph) {
            const Control flag(control.data(), spent.data());
            return with_distance(in(label), in(bit_cost), in(table), cap.size(), [&](const auto& distance) {
              return refine_placement(graph, distance, in(cap), seed, options, flag, out(pe));
            });
          });
        },
        "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "loads"_a.noconvert(),
        "labels"_a.noconvert(), "bit_costs"_a.noconvert(), "table"_a.noconvert(), "caps"_a.noconvert(), "seed"_a,
        "settings"_a.noconvert(), "others"_a.noconvert(), "control"_a.noconvert(), "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "pe"_a.noconvert());
  m.def("coarsen_once",
        [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weights, InArray<int64_t> loads,
           InArray<int64_t> cap, int64_t per_block, int64_t fewest, uint64_t seed, OutArray<int64_t> spent,
           InArray<int64_t> u_start, InArray<int32_t> u_block, InArray<int64_t> u_cost, InArray<int64_t> u_rest,
           OutArray<int32_t> maps, OutArray<int64_t> sizes) {
          nb::gil_scoped_release release;
          return with_weights(in(indptr), in(target), in(weights), in(loads),
                              read_unary(in(u_start), in(u_block), in(u_cost), in(u_rest)), [&](const auto& graph) {
            return coarsen_once(graph, CoarseSize(graph, in(cap), per_block, fewest), seed,
                                Control(nullptr, spent.data()), out(maps), out(sizes));
          });
        },
        "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "loads"_a.noconvert(),
        "caps"_a.noconvert(), "per_block"_a, "fewest"_a, "seed"_a, "spent"_a.noconvert(),
        "unary_start"_a.noconvert(), "unary_blocks"_a.noconvert(), "unary_costs"_a.noconvert(),
        "unary_rests"_a.noconvert(), "maps"_a.noconvert(), "sizes"_a.noconvert());
}
