// Uncoarsening and multilevel refinement: a partition is projected from the coarsest graph to the finest one
// and refined at every level, under any distance. Partitioning (flat distance) and mapping (tree or table)
// share this code.
#pragma once
#include <unordered_map>

#include "coarsen.hpp"
#include "flow.hpp"
#include "local_search.hpp"
#include "portable_math.hpp"

namespace hopbytes {

// Returns the partition of the coarsest graph that equals `part`. No contracted edge may be cut by `part`.
template <class W>
std::vector<int32_t> project_to_coarsest(const std::vector<Level<W>>& levels, std::vector<int32_t> part) {
  for (const auto& level : levels) {
    std::vector<int32_t> coarse(level.graph.n, 0);
    for (size_t v = 0; v < part.size(); ++v) coarse[level.map[v]] = part[v];
    part.swap(coarse);
  }
  return part;
}

// Returns equal labels for vertices on whose blocks two partitions into k blocks agree. If there are too many
// pairs of blocks for a product to number them, they are numbered in the order of their appearance.
inline std::vector<int32_t> common_refinement(const std::vector<int32_t>& part, const int32_t* other,
                                              int64_t k) {
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

template <class W, class D> class MultilevelRefinement {
 public:
  MultilevelRefinement(D distance, std::span<const int64_t> max_block_weight, const SearchOptions& options,
                       const FlowOptions& flow, const Control& control)
      : distance_(distance),
        max_block_weight_(max_block_weight),
        options_(options),
        flow_(flow),
        control_(control),
        search_(distance, static_cast<int64_t>(max_block_weight.size()), max_block_weight.data()) {}

  // Refines the partition in place. `candidate` (may be null) marks the only vertices that can lie on the
  // boundary.
  void refine(const WorkGraph<W>& g, std::vector<int32_t>& part, const uint8_t* candidate, Rng& rng) {
    SearchOptions options = options_;
    options.slack = g.max_load;
    const int64_t scanned_before = search_.scanned_edges();
    // A null `candidate` means that the uncoarsening starts here.
    if (!candidate) overload_percent_ = options_.overload_percent;
    search_.attach(g, part.data());
    search_.run(options, candidate, rng, control_);
    if (search_.overload() > 0) search_.rebalance();
    if (overload_percent_ > 0 && search_.overload() == 0) refine_unconstrained(g, part, options, rng);
    if (flow_.rounds > 0 && search_.overload() == 0) improve_by_flows(g, part);
    control_.record_work(search_.scanned_edges() - scanned_before + g.n);
  }

  // Takes a refined partition of the coarsest graph and returns a refined partition of g.
  std::vector<int32_t> uncoarsen(const WorkGraph<W>& g, const std::vector<Level<W>>& levels,
                                 std::vector<int32_t> part, Rng& rng) {
    std::vector<uint8_t> may_be_boundary, coarse_boundary;
    for (size_t i = levels.size(); i-- > 0;) {
      const WorkGraph<W>& fine = i == 0 ? g : levels[i - 1].graph;
      control_.record_work(2 * fine.arcs());  // the work of clustering and contracting this level
      const std::vector<int32_t>& map = levels[i].map;
      coarse_boundary.assign(levels[i].graph.n, 0);
      for (int32_t v : search_.boundary()) coarse_boundary[v] = 1;
      std::vector<int32_t> next(fine.n);
      may_be_boundary.assign(fine.n, 0);
      for (int64_t v = 0; v < fine.n; ++v)
        next[v] = part[map[v]], may_be_boundary[v] = coarse_boundary[map[v]];
      part.swap(next);
      refine(fine, part, may_be_boundary.data(), rng);
    }
    return part;
  }

  int64_t moves() const { return search_.moves(); }

 private:
  // Unconstrained FM (Maas, Gottesbüren, Seemaier 2024): refines under looser maximum block weights, then
  // under the true ones, which moves vertices out of the overloaded blocks. The result is kept if it costs
  // less. This leaves local optima that exist only because the maximum block weights are tight. During one
  // uncoarsening the permitted overload shrinks after every attempt without a gain.
  void refine_unconstrained(const WorkGraph<W>& g, std::vector<int32_t>& part, const SearchOptions& options,
                            Rng& rng) {
    constexpr int32_t smallest_overload = 10;
    std::vector<int64_t> loose(max_block_weight_.begin(), max_block_weight_.end());
    for (int64_t& max_block_weight : loose)  // No block can hold more than the total load.
      for (const int64_t more : {percent_of(max_block_weight, overload_percent_), g.max_load})
        max_block_weight += std::max<int64_t>(0, std::min(g.total_load - max_block_weight, more));
    const std::vector<int32_t> before(part);
    const int64_t cost = search_.cost();
    search_.set_max_block_weights(loose.data());
    search_.resume(options, rng, control_);
    search_.set_max_block_weights(max_block_weight_.data());
    search_.resume(options, rng, control_);
    if (search_.overload() == 0 && search_.cost() < cost) return;
    if (overload_percent_ > smallest_overload)
      overload_percent_ = std::max(smallest_overload, overload_percent_ / 3);
    std::copy(before.begin(), before.end(), part.begin());
    search_.attach(g, part.data());
    search_.find_boundary(nullptr);
  }

  void improve_by_flows(const WorkGraph<W>& g, std::vector<int32_t>& part) {
    std::vector<int64_t> load(search_.loads());
    if (flow_refine(g, distance_, part.data(), load, max_block_weight_.data(), flow_, control_) == 0) return;
    search_.attach(g, part.data());
    search_.find_boundary(nullptr);
  }

  D distance_;
  std::span<const int64_t> max_block_weight_;
  SearchOptions options_;
  FlowOptions flow_;
  const Control& control_;
  LocalSearch<W, D> search_;
  int32_t overload_percent_ = 0;  // percent by which the next attempt may overload the blocks
};

}  // namespace hopbytes
