#include "partition/coarsening/coarsen.hpp"

namespace hopbytes {

namespace {

constexpr double largest_shrink = 3.0;  // the largest factor between the sizes of two levels

}  // namespace

template <class W>
Hierarchy<W> coarsen(const Graph<W>& g, const int32_t* community, const CoarseningContext& context, Rng& rng,
                     const Control& control) {
  Hierarchy<W> hierarchy(g);
  std::vector<int32_t> coarse_community;
  if (g.linear_cost) {  // Vertices with different forbidden blocks are never clustered together.
    coarse_community = g.linear_cost->labels(community);
    community = coarse_community.data();
  }
  while (hierarchy.coarsest().n > context.target) {
    const Graph<W>& fine = hierarchy.coarsest();
    const int64_t fewest =
        std::max(context.target, static_cast<int64_t>(static_cast<double>(fine.n) / largest_shrink));
    // Another method of clustering would be called here.
    const Clusters clusters = cluster_heavy_edges(fine, community, context, fewest, rng, control);
    if (clusters.count > fine.n * 19 / 20 || control.should_stop()) break;
    control.record_work(2 * fine.arcs());
    Level<W> level = contract(fine, clusters);
    if (community) {
      std::vector<int32_t> next(level.graph.n);
      for (int64_t v = 0; v < fine.n; ++v) next[level.map[v]] = community[v];
      coarse_community = std::move(next);
      community = coarse_community.data();
    }
    hierarchy.push(std::move(level));
  }
  return hierarchy;
}

template <class W>
int64_t coarsen_once(const Graph<W>& g, const CoarseningContext& context, uint64_t seed,
                     const Control& control, std::span<int32_t> maps, std::span<int64_t> sizes) {
  Rng rng(seed);
  const Hierarchy<W> hierarchy = coarsen(g, nullptr, context, rng, control);
  int64_t filled = 0, count = 0;
  for (size_t i = 0; i < hierarchy.size(); ++i) {
    const std::vector<int32_t>& map = hierarchy.map(i);
    const auto fine = static_cast<int64_t>(map.size());
    if (filled + fine > static_cast<int64_t>(maps.size()) || count == static_cast<int64_t>(sizes.size()))
      break;
    std::copy(map.begin(), map.end(), maps.begin() + filled);
    filled += fine;
    sizes[count++] = hierarchy.graph(i + 1).n;
  }
  return count;
}

template Hierarchy<int32_t> coarsen(const Graph<int32_t>&, const int32_t*, const CoarseningContext&, Rng&,
                                    const Control&);
template Hierarchy<int64_t> coarsen(const Graph<int64_t>&, const int32_t*, const CoarseningContext&, Rng&,
                                    const Control&);
template int64_t coarsen_once(const Graph<int32_t>&, const CoarseningContext&, uint64_t, const Control&,
                              std::span<int32_t>, std::span<int64_t>);
template int64_t coarsen_once(const Graph<int64_t>&, const CoarseningContext&, uint64_t, const Control&,
                              std::span<int32_t>, std::span<int64_t>);

}  // namespace hopbytes
