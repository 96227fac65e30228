// Binds parallel_multilevel.hpp.
#include "partition/parallel_multilevel.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "partition/coarsening/coarsen.hpp"
#include "search_arguments.hpp"
#include "search_settings.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

UncoarseningSettings uncoarsening_settings(const nb::dict& given) {
  NamedSettings named(given);
  UncoarseningSettings settings;
  named.read("synchronous_rounds", settings.rounds);
  named.read("sequential_up_to", settings.sequential_up_to);
  named.read("threads", settings.threads);
  read_refinement(named, settings.refinement);
  named.expect_all_read();
  return settings;
}

AnyDistance distance_of(const DistanceArrays& distances, size_t k) {
  const auto& [label, bit_cost, table] = distances;
  return with_distance(in(label), in(bit_cost), in(table), k,
                       [](const auto& distance) { return AnyDistance(distance); });
}

// Writes the maps of all levels one after another, their sizes, and the coarsest graph. Returns the number of
// levels.
template <class W>
int64_t write_hierarchy(const Hierarchy<W>& hierarchy, std::span<int32_t> maps, std::span<int64_t> sizes,
                        std::span<int64_t> start, std::span<int32_t> adj, std::span<int64_t> weight,
                        std::span<int64_t> load) {
  size_t filled = 0;
  for (size_t i = 0; i < hierarchy.size(); ++i) {
    const std::vector<int32_t>& map = hierarchy.map(i);
    std::copy(map.begin(), map.end(), maps.begin() + filled);
    filled += map.size();
    sizes[i] = hierarchy.graph(i + 1).n;
  }
  const Graph<W>& coarsest = hierarchy.coarsest();
  std::copy(coarsest.start, coarsest.start + coarsest.n + 1, start.begin());
  std::vector<std::pair<int32_t, int64_t>> row;
  for (int64_t v = 0; v < coarsest.n; ++v) {
    row.clear();
    for (int64_t e = coarsest.start[v]; e < coarsest.start[v + 1]; ++e)
      row.emplace_back(coarsest.adj[e], coarsest.weight[e]);
    std::sort(row.begin(), row.end());  // Python's graphs have sorted rows
    for (size_t i = 0; i < row.size(); ++i)
      std::tie(adj[coarsest.start[v] + i], weight[coarsest.start[v] + i]) = row[i];
  }
  std::copy(coarsest.load, coarsest.load + coarsest.n, load.begin());
  return static_cast<int64_t>(hierarchy.size());
}

}  // namespace

void bind_parallel(nb::module_& m) {
  m.def(
      "coarsen_in_parallel",
      [](GraphArrays arrays, ControlArrays control_arrays, InArray<int64_t> max_block_weight, int64_t target,
         uint64_t seed, int32_t threads, OutArray<int32_t> maps, OutArray<int64_t> sizes,
         OutArray<int64_t> start, OutArray<int32_t> adj, OutArray<int64_t> weight, OutArray<int64_t> load) {
        nb::gil_scoped_release release;
        return on_graph(arrays, {}, [&](const auto& graph) {
          const auto limit = in(max_block_weight);
          const int64_t smallest = *std::min_element(limit.begin(), limit.end());
          const auto hierarchy = coarsen_in_parallel(graph, coarsening_limits(graph, target, smallest), seed,
                                                     threads, control_of(control_arrays));
          return write_hierarchy(hierarchy, out(maps), out(sizes), out(start), out(adj), out(weight),
                                 out(load));
        });
      },
      "graph"_a.noconvert(), "control"_a.noconvert(), "max_block_weights"_a.noconvert(), "target"_a, "seed"_a,
      "threads"_a, "maps"_a.noconvert(), "sizes"_a.noconvert(), "coarse_indptr"_a.noconvert(),
      "coarse_targets"_a.noconvert(), "coarse_weights"_a.noconvert(), "coarse_loads"_a.noconvert());
  m.def(
      "uncoarsen_in_parallel",
      [](GraphArrays arrays, DistanceArrays distances, ControlArrays control_arrays, InArray<int32_t> maps,
         InArray<int64_t> sizes, InArray<int64_t> max_block_weight, uint64_t seed, const nb::dict& given,
         OutArray<int32_t> pe) {
        const UncoarseningSettings settings = uncoarsening_settings(given);
        nb::gil_scoped_release release;
        return on_graph(arrays, {}, [&](const auto& graph) {
          return uncoarsen_in_parallel(graph, in(maps), in(sizes),
                                       distance_of(distances, max_block_weight.size()), in(max_block_weight),
                                       seed, settings, control_of(control_arrays), out(pe));
        });
      },
      "graph"_a.noconvert(), "distances"_a.noconvert(), "control"_a.noconvert(), "maps"_a.noconvert(),
      "sizes"_a.noconvert(), "max_block_weights"_a.noconvert(), "seed"_a, "settings"_a, "pe"_a.noconvert());
}
