// Uncoarsening and multilevel refinement: a partition is projected from the coarsest graph to the finest one
// and refined at every level, under any distance. Partitioning (flat distance) and mapping (tree or table)
// share this code.
#pragma once
#include <unordered_map>

#include "coarsen.hpp"
#include "flow.hpp"
#include "local_search.hpp"

namespace hopbytes {

// Returns the partition of the coarsest graph that equals `part`. No contracted edge may be cut by `part`.
template <class W>
std::vector<int32_t> project_down(const std::vector<Level<W>>& levels, std::vector<int32_t> part) {
  for (const auto& level : levels) {
    std::vector<int32_t> coarse(level.graph.n, 0);
    for (size_t v = 0; v < part.size(); ++v) coarse[level.map[v]] = part[v];
    part.swap(coarse);
  }
  return part;
}

// Returns equal labels for vertices on whose blocks two partitions into k blocks agree. If there are too many
// pairs of blocks for a product to number them, they are numbered in the order of their appearance.
inline std::vector<int32_t> common_refinement(const std::vector<int32_t>& part, const int32_t* other, int64_t k) {
  std::vector<int32_t> label(part.size());
  if (k * k <= std::numeric_limits<int32_t>::max()) {
    for (size_t v = 0; v < part.size(); ++v) label[v] = static_cast<int32_t>(part[v] * k + other[v]);
    return label;
  }
  std::unordered_map<int64_t, int32_t> number;
  for (size_t v = 0; v < part.size(); ++v)
    label[v] = number.try_emplace(part[v] * k + other[v], static_cast<int32_t>(number.size())).first->second;
  return label;
}

template <class W, class D> class Climb {
 public:
  Climb(D distance, std::span<const int64_t> cap, const SearchOptions& options,
        const FlowOptions& flow, const Control& control)
      : distance_(distance), cap_(cap), options_(options), flow_(flow), control_(control),
        search_(distance, static_cast<int64_t>(cap.size()), cap.data()) {}

  // Refines the partition in place. `candidate` (may be null) marks the only vertices that can lie on the
  // boundary.
  void refine(const WorkGraph<W>& g, std::vector<int32_t>& part, const uint8_t* candidate, Rng& rng) {
    SearchOptions options = options_;
    options.slack = g.max_load;
    const int64_t seen_before = search_.arcs_seen();
    // A null `candidate` means that the uncoarsening starts here.
    if (!candidate) reach_ = options_.venture_percent;
    search_.adopt(g, part.data());
    search_.run(options, candidate, rng, control_);
    if (search_.overload() > 0) search_.rebalance();
    if (reach_ > 0 && search_.overload() == 0) venture(g, part, options, rng);
    if (flow_.rounds > 0 && search_.overload() == 0) improve_by_flows(g, part);
    control_.spend(search_.arcs_seen() - seen_before + g.n);
  }

  // Takes a refined partition of the coarsest graph and returns a refined partition of g.
  std::vector<int32_t> uncoarsen(const WorkGraph<W>& g, const std::vector<Level<W>>& levels,
                                 std::vector<int32_t> part, Rng& rng) {
    std::vector<uint8_t> near, coarse_near;
    for (size_t i = levels.size(); i-- > 0;) {
      const WorkGraph<W>& fine = i == 0 ? g : levels[i - 1].graph;
      control_.spend(2 * fine.arcs());  // the work of clustering and contracting this level
      const std::vector<int32_t>& map = levels[i].map;
      coarse_near.assign(levels[i].graph.n, 0);
      for (int32_t v : search_.boundary()) coarse_near[v] = 1;
      std::vector<int32_t> next(fine.n);
      near.assign(fine.n, 0);
      for (int64_t v = 0; v < fine.n; ++v) next[v] = part[map[v]], near[v] = coarse_near[map[v]];
      part.swap(next);
      refine(fine, part, near.data(), rng);
    }
    return part;
  }

  int64_t moves() const { return search_.moves(); }

 private:
  // Unconstrained FM (Maas, Gottesbüren, Seemaier 2024): refines under looser maximum block weights, then
  // under the true ones, which moves vertices out of the overloaded blocks. The result is kept if it costs
  // less. This leaves local optima that exist only because the maximum block weights are tight. During one
  // uncoarsening the permitted overload shrinks after every attempt without a gain.
  void venture(const WorkGraph<W>& g, std::vector<int32_t>& part, const SearchOptions& options, Rng& rng) {
    constexpr int32_t nearest = 10;
    std::vector<int64_t> loose(cap_.begin(), cap_.end());
    for (int64_t& cap : loose)  // No block can hold more than the total load.
      for (const int64_t more : {cap / 100 * reach_, g.max_load}) cap += std::max<int64_t>(0, std::min(g.total_load - cap, more));
    const std::vector<int32_t> before(part);
    const int64_t cost = search_.cost();
    search_.obey(loose.data());
    search_.resume(options, rng, control_);
    search_.obey(cap_.data());
    search_.resume(options, rng, control_);
    if (search_.overload() == 0 && search_.cost() < cost) return;
    if (reach_ > nearest) reach_ = std::max(nearest, reach_ / 3);
    std::copy(before.begin(), before.end(), part.begin());
    search_.adopt(g, part.data());
    search_.find_boundary(nullptr);
  }

  void improve_by_flows(const WorkGraph<W>& g, std::vector<int32_t>& part) {
    std::vector<int64_t> load(search_.loads());
    if (flow_refine(g, distance_, part.data(), load, cap_.data(), flow_, control_) == 0) return;
    search_.adopt(g, part.data());
    search_.find_boundary(nullptr);
  }

  D distance_;
  std::span<const int64_t> cap_;
  SearchOptions options_;
  FlowOptions flow_;
  const Control& control_;
  LocalSearch<W, D> search_;
  int32_t reach_ = 0;  // percent by which the next attempt may overload the blocks
};

}  // namespace hopbytes
