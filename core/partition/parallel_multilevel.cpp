#include "partition/parallel_multilevel.hpp"

#include <algorithm>

#include "partition/coarsening/parallel_contraction.hpp"
#include "partition/coarsening/synchronous_clustering.hpp"
#include "partition/refinement/rebalance.hpp"
#include "partition/refinement/synchronous_moves.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

namespace {

constexpr double largest_shrink = 3.0;  // the approximate largest factor between the sizes of two levels
constexpr int64_t step = 1 << 14;

// A mapping on the way from the coarsest graph to the finest one.
template <class W> class Uncoarsening {
 public:
  Uncoarsening(const AnyDistance& distance, std::span<const int64_t> max_block_weight, uint64_t seed,
               const UncoarseningSettings& settings, const Control& control)
      : max_block_weight_(max_block_weight),
        settings_(settings),
        control_(control),
        rng_(seed),
        partition_(distance, max_block_weight),
        refiners_(settings.refinement),
        moves_(distance, max_block_weight, settings.rounds, settings.threads) {}

  void refine(const Graph<W>& g, std::vector<int32_t>& block) {
    if (g.n <= settings_.sequential_up_to) {
      partition_.assign(g, std::move(block));
      refiners_.refine(partition_, rng_, control_);
      block = partition_.take_blocks();
      near_boundary_.assign(g.n, 1);
      return;
    }
    near_boundary_.resize(g.n, 1);  // of the coarsest graph all may be
    std::vector<int64_t> load(max_block_weight_.size(), 0);
    parallel_ranges(g.n, step, settings_.threads, [&](int32_t, int64_t begin, int64_t end) {
      std::vector<int64_t> own(load.size(), 0);
      for (int64_t v = begin; v < end; ++v) own[block[v]] += g.load[v];
      for (size_t b = 0; b < load.size(); ++b)
        if (own[b] != 0) shared_add(load[b], own[b]);
    });
    if (overloaded(load)) {
      partition_.assign(g, std::move(block));
      Rebalance<W>().refine(partition_, rng_, control_);
      load = partition_.loads();
      block = partition_.take_blocks();
      std::fill(near_boundary_.begin(), near_boundary_.end(), 1);
    }
    tried_ += moves_.refine({g, block, load, near_boundary_}, control_);
  }

  // Continues on the graph that was contracted by `map`.
  void project(std::span<const int32_t> map, std::vector<int32_t>& block) {
    std::vector<int32_t> fine(map.size());
    std::vector<uint8_t> near_boundary(map.size());
    parallel_ranges(static_cast<int64_t>(map.size()), step, settings_.threads,
                    [&](int32_t, int64_t begin, int64_t end) {
                      for (int64_t v = begin; v < end; ++v) {
                        fine[v] = block[map[v]];
                        near_boundary[v] = near_boundary_[map[v]];
                      }
                    });
    block.swap(fine);
    near_boundary_.swap(near_boundary);
  }

  int64_t moves() const { return tried_ + partition_.moves(); }

 private:
  bool overloaded(const std::vector<int64_t>& load) const {
    for (size_t b = 0; b < load.size(); ++b)
      if (load[b] > max_block_weight_[b]) return true;
    return false;
  }

  std::span<const int64_t> max_block_weight_;
  UncoarseningSettings settings_;
  const Control& control_;
  Rng rng_;
  Partition<W> partition_;
  RefinerChain<W> refiners_;
  SynchronousMoves<W> moves_;
  std::vector<uint8_t> near_boundary_;
  int64_t tried_ = 0;
};

}  // namespace

template <class W>
Hierarchy<W> coarsen_in_parallel(const Graph<W>& g, const CoarseningContext& context, uint64_t seed,
                                 int32_t threads, const Control& control) {
  Hierarchy<W> hierarchy(g);
  while (hierarchy.coarsest().n > context.target) {
    const Graph<W>& fine = hierarchy.coarsest();
    const int64_t fewest =
        std::max(context.target, static_cast<int64_t>(static_cast<double>(fine.n) / largest_shrink));
    const Clusters clusters =
        cluster_synchronously(fine, context, fewest, derive(seed, hierarchy.size()), threads, control);
    if (clusters.count > fine.n * 9 / 10 || control.should_stop()) break;
    control.record_work(2 * fine.arcs());
    hierarchy.push(contract_in_parallel(fine, number_clusters(clusters, threads), clusters.count, threads));
  }
  return hierarchy;
}

template <class W>
int64_t uncoarsen_in_parallel(const Graph<W>& g, std::span<const int32_t> maps, std::span<const int64_t> sizes,
                              const AnyDistance& distance, std::span<const int64_t> max_block_weight,
                              uint64_t seed, const UncoarseningSettings& settings, const Control& control,
                              std::span<int32_t> pe) {
  Hierarchy<W> hierarchy(g);
  for (size_t i = 0, at = 0; i < sizes.size(); ++i) {
    const Graph<W>& fine = hierarchy.coarsest();
    std::vector<int32_t> map(maps.begin() + at, maps.begin() + at + fine.n);
    at += fine.n;
    control.record_work(fine.arcs());
    hierarchy.push(contract_in_parallel(fine, std::move(map), sizes[i], settings.threads));
  }
  Uncoarsening<W> uncoarsening(distance, max_block_weight, seed, settings, control);
  std::vector<int32_t> block(pe.begin(), pe.begin() + hierarchy.coarsest().n);
  uncoarsening.refine(hierarchy.coarsest(), block);
  for (size_t i = hierarchy.size(); i-- > 0;) {
    uncoarsening.project(hierarchy.map(i), block);
    uncoarsening.refine(hierarchy.graph(i), block);
  }
  std::copy(block.begin(), block.end(), pe.begin());
  return uncoarsening.moves();
}

template Hierarchy<int32_t> coarsen_in_parallel(const Graph<int32_t>&, const CoarseningContext&, uint64_t,
                                                int32_t, const Control&);
template Hierarchy<int64_t> coarsen_in_parallel(const Graph<int64_t>&, const CoarseningContext&, uint64_t,
                                                int32_t, const Control&);
template int64_t uncoarsen_in_parallel(const Graph<int32_t>&, std::span<const int32_t>,
                                       std::span<const int64_t>, const AnyDistance&, std::span<const int64_t>,
                                       uint64_t, const UncoarseningSettings&, const Control&,
                                       std::span<int32_t>);
template int64_t uncoarsen_in_parallel(const Graph<int64_t>&, std::span<const int32_t>,
                                       std::span<const int64_t>, const AnyDistance&, std::span<const int64_t>,
                                       uint64_t, const UncoarseningSettings&, const Control&,
                                       std::span<int32_t>);

}  // namespace hopbytes
