// One multilevel partition of a graph into blocks with maximum weights: coarsening, several initial
// partitions of a coarse graph, refinement of the best one during uncoarsening, and recombination of several
// such partitions.
#pragma once
#include "uncoarsening.hpp"
#include "exact.hpp"
#include "initial.hpp"
#include "linear_assignment.hpp"

namespace hopbytes {

// The defaults stand in Python (PartitionSettings).
struct PartitionOptions {
  int32_t initial_partitions = 1;  // compared at the contraction limit
  // Number of vertices at which the first coarsening ends and initial partitions are compared.
  int32_t contraction_limit = 0;
  int32_t coarsest = 1;             // vertices per block of the graph on which bisections are grown
  int32_t growing_repetitions = 1;  // grown bisections per initial bisection
  int32_t recombinations = 0;       // recombinations of the initial partitions
  // Coarsening hierarchies of a large graph that repetitions share, at least; 0: every repetition has its
  // own.
  int32_t hierarchies = 0;
  SearchOptions search;
  FlowOptions flow;  // used from the contraction limit upwards
};

// Assigns repetitions to coarsening hierarchies of a large graph. The first repetitions have a hierarchy
// each, the others share some, so that the work on the large graph does not grow with the number of
// repetitions: they are compared and recombined on small graphs, and only the best one is uncoarsened.
struct HierarchySharing {
  int64_t repetitions = 1, exclusive = 0, shared = 1;
  int64_t count() const { return exclusive + (repetitions - exclusive + shared - 1) / shared; }
  int64_t first(int64_t hierarchy) const {
    return std::min(repetitions,
                    hierarchy <= exclusive ? hierarchy : exclusive + (hierarchy - exclusive) * shared);
  }
};

template <class W> class Multilevel {
 public:
  Multilevel(std::span<const int64_t> max_block_weight, const PartitionOptions& options,
             const Control& control)
      : max_block_weight_(max_block_weight),
        options_(options),
        control_(control),
        initial_refinement_({}, max_block_weight, options.search, FlowOptions{0}, control),
        refinement_({}, max_block_weight, options.search, options.flow, control) {
    smallest_max_weight_ = *std::min_element(max_block_weight.begin(), max_block_weight.end());
  }

  // Assigns repetitions to hierarchies where the graph is large. Half of the hierarchies belong to one
  // repetition each: on lattices, where straight cuts are visible on fine graphs only, these find the best
  // partitions.
  HierarchySharing hierarchies(const WorkGraph<W>& g, int64_t repetitions) const {
    const int64_t exclusive = options_.hierarchies / 2, others = options_.hierarchies - exclusive;
    if (others < 1 || repetitions <= options_.hierarchies) return {repetitions};
    return {repetitions, exclusive,
            std::clamp<int64_t>(g.n / shared_contraction_limit(), 1,
                                (repetitions - exclusive + others - 1) / others)};
  }

  // Makes `count` independent repetitions, numbered from `first`, on the coarse graph of one shared
  // hierarchy, recombines them in pairs and uncoarsens the best one.
  Score run(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t first, int64_t count) {
    if (count == 1) return run(g, part, seed, first);
    Rng rng(seed);
    const auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), shared_contraction_limit(),
                                max_cluster_load(g), rng, g.uneven);
    const WorkGraph<W>& small = levels.empty() ? g : levels.back().graph;
    std::vector<Candidate> found;
    for (int64_t i = 0; i < count && (i == 0 || !control_.should_stop()); ++i) {
      found.emplace_back();
      found[i].score = run(small, found[i].part, rng.next(), first + i);
    }
    for (best_first(found); found.size() > 1 && !control_.should_stop(); best_first(found)) {
      const size_t half = (found.size() + 1) / 2;
      for (size_t i = half; i < found.size(); ++i)
        found[i - half].score = recombine(small, found[i - half].part, found[i].part.data(), rng.next());
      found.resize(half);
    }
    refinement_.refine(small, found[0].part, nullptr, rng);
    part = refinement_.uncoarsen(g, levels, std::move(found[0].part), rng);
    return score(g, part.data(), max_block_weight_);
  }

  // Makes one of several independent repetitions. They alternate between kinds of initial partitions, because
  // these find different results: recursive partition into many bundles, or bisection. Where the maximum
  // block weights leave little room, blocks of equal sizes are the first kind: exchanging vertices gets
  // further there than moving single vertices. Where edge weights are uneven, three of four repetitions are
  // of that kind: a bisection from its own coarsening finds the few light edges that matter. Many blocks
  // grown side by side rarely find them, but when they do, the result is better.
  Score run(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t number) {
    if (g.uneven ? number % 4 < 3 && divisible(g) : number % 2 == 0 && tight(g)) {
      const Score found = from_equal_sizes(g, part, seed);
      if (found.overload == 0) return found;
    }
    return partition(g, part, seed, number % 2 ? 2 : 4);
  }

  // Computes a partition from scratch; more than `direct` blocks are computed in bundles.
  Score partition(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t direct = 4) {
    if (static_cast<int64_t>(max_block_weight_.size()) > direct && g.n > 4 * coarsest_size() &&
        !g.linear_cost)
      return in_bundles(g, part, seed, direct);
    Rng rng(seed);
    const int64_t target = std::max<int64_t>(options_.contraction_limit, 4 * coarsest_size());
    auto levels =
        coarsen(g, static_cast<const int32_t*>(nullptr), target, max_cluster_load(g), rng, g.uneven);
    const WorkGraph<W>& coarse_graph = levels.empty() ? g : levels.back().graph;
    std::vector<int32_t> coarse = best_initial_partition(coarse_graph, rng);
    refinement_.refine(coarse_graph, coarse, nullptr, rng);
    part = refinement_.uncoarsen(g, levels, std::move(coarse), rng);
    return score(g, part.data(), max_block_weight_);
  }

  // Contracts vertices that are together in all given partitions, starts from the best one and refines during
  // uncoarsening. The result is never worse than the first partition.
  Score recombine(const WorkGraph<W>& g, std::vector<int32_t>& part, const int32_t* other, uint64_t seed) {
    Rng rng(seed);
    const std::vector<int32_t> label =
        other ? common_refinement(part, other, static_cast<int64_t>(max_block_weight_.size())) : part;
    const Score before = score(g, part.data(), max_block_weight_);
    auto levels = coarsen(g, label.data(), coarsest_size(), max_cluster_load(g), rng, g.uneven);
    std::vector<int32_t> coarse = project_to_coarsest(levels, part);
    const WorkGraph<W>& coarsest = levels.empty() ? g : levels.back().graph;
    refinement_.refine(coarsest, coarse, nullptr, rng);
    std::vector<int32_t> result = refinement_.uncoarsen(g, levels, std::move(coarse), rng);
    const Score after = score(g, result.data(), max_block_weight_);
    if (before < after) return before;
    part.swap(result);
    return after;
  }

 private:
  // Returns whether a block has less room than one of its sides needs to move by about one vertex. Many
  // blocks of few vertices are better partitioned the other way. All three constants were measured.
  bool tight(const WorkGraph<W>& g) const {
    constexpr int64_t few_blocks = 16, few_vertices = 96;
    const int64_t k = static_cast<int64_t>(max_block_weight_.size());
    if (!divisible(g) || (k > few_blocks && g.n < few_vertices * k)) return false;
    const double vertex = static_cast<double>(g.total_load) / static_cast<double>(g.n);
    const double blocks = static_cast<double>(k);
    const double side = vertex * std::sqrt(static_cast<double>(g.n) / blocks);
    return total_slack(g) / blocks < 0.8 * side;
  }

  // Returns whether blocks of equal sizes are possible: every vertex is small compared with every block, and
  // all vertices fit.
  bool divisible(const WorkGraph<W>& g) const {
    return !g.linear_cost && g.total_load > 0 && g.max_load <= smallest_max_weight_ / 8 &&
           total_slack(g) >= 0;
  }
  double total_slack(const WorkGraph<W>& g) const {
    return std::accumulate(max_block_weight_.begin(), max_block_weight_.end(), 0.0) -
           static_cast<double>(g.total_load);
  }

  // Computes blocks of equal sizes (in proportion to the maximum weights), then a V-cycle that may use the
  // available room.
  Score from_equal_sizes(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    const std::vector<int64_t> size = fair_sizes(g.total_load);
    ExactOptions how{std::max(1, options_.initial_partitions)};
    if (g.uneven)
      how.repetitions = 2, how.recombinations = 1;  // The quality of a single bisection varies much there.
    ExactPartition<W>(size, how, control_).partition(g, part, derive(seed, 1));
    return recombine(g, part, nullptr, derive(seed, 2));
  }

  // Divides the load in proportion to the maximum block weights, which it does not exceed.
  std::vector<int64_t> fair_sizes(int64_t load) const {
    const double room = std::accumulate(max_block_weight_.begin(), max_block_weight_.end(), 0.0);
    std::vector<int64_t> size(max_block_weight_.size());
    int64_t left = load;
    for (size_t b = 0; b < max_block_weight_.size(); ++b) {
      const double shared = static_cast<double>(load) * (static_cast<double>(max_block_weight_[b]) / room);
      left -= size[b] = std::min(max_block_weight_[b], static_cast<int64_t>(shared));
    }
    for (size_t b = 0, full = 0; left > 0 && full < max_block_weight_.size();
         b = (b + 1) % max_block_weight_.size()) {
      if (size[b] < max_block_weight_[b]) ++size[b], --left, full = 0;
      else ++full;
    }
    return size;
  }

  // Partitions into few bundles of blocks, partitions each bundle further on its own, and runs one V-cycle
  // over all blocks. Growing many blocks at once on a small graph gives worse results, and searches among few
  // blocks are faster.
  Score in_bundles(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t direct) {
    const int64_t k = static_cast<int64_t>(max_block_weight_.size());
    const int64_t bundles = std::min<int64_t>(4, (k + direct - 1) / direct);
    const double levels = 1 + std::ceil(std::log2(static_cast<double>(k) / static_cast<double>(bundles)) / 3);
    std::vector<int64_t> first(bundles + 1, 0), room(bundles, 0), max_block_weight(bundles);
    for (int64_t j = 0; j < bundles; ++j) {
      first[j + 1] = k * (j + 1) / bundles;
      for (int64_t b = first[j]; b < first[j + 1]; ++b) room[j] += max_block_weight_[b];
    }
    const double scale = static_cast<double>(g.total_load) /
                         static_cast<double>(std::accumulate(room.begin(), room.end(), int64_t{0}));
    for (int64_t j = 0; j < bundles; ++j) {
      const int64_t fair =
          std::min(room[j], static_cast<int64_t>(std::ceil(static_cast<double>(room[j]) * scale)));
      // Some of the slack is left for the partitions of the bundles.
      max_block_weight[j] = fair + static_cast<int64_t>(static_cast<double>(room[j] - fair) / levels);
    }
    std::vector<int32_t> bundle, local(g.n);
    Multilevel<W>(max_block_weight, options_, control_).partition(g, bundle, derive(seed, 1), direct);
    std::vector<std::vector<int32_t>> members(bundles);
    for (int32_t v = 0; v < g.n; ++v) {
      local[v] = static_cast<int32_t>(members[bundle[v]].size());
      members[bundle[v]].push_back(v);
    }
    part.assign(g.n, 0);
    for (int64_t j = 0; j < bundles; ++j) {
      const WorkGraph<W> sub = induced(g, members[j], bundle.data(), static_cast<int32_t>(j), local.data());
      std::vector<int32_t> inner(sub.n, 0);
      if (sub.n > 0 && first[j + 1] - first[j] > 1)
        Multilevel<W>(max_block_weight_.subspan(first[j], first[j + 1] - first[j]), options_, control_)
            .partition(sub, inner, derive(seed, 2 + j), direct);
      for (int64_t i = 0; i < sub.n; ++i) part[members[j][i]] = static_cast<int32_t>(first[j]) + inner[i];
    }
    return recombine(g, part, nullptr, derive(seed, 10));
  }

  // The contraction limit of shared hierarchies. Between 2000 and 8000 J hardly differs (eight graphs, two
  // seeds).
  int64_t shared_contraction_limit() const { return std::max<int64_t>(4000, 4 * coarsest_size()); }
  int64_t coarsest_size() const {
    return std::max<int64_t>(2, options_.coarsest * static_cast<int64_t>(max_block_weight_.size()));
  }
  int64_t max_cluster_load(const WorkGraph<W>& g) const {
    // Light enough to leave the coarsest graph balanced; a pair of average vertices always fits.
    const int64_t fair = g.total_load / std::max<int64_t>(1, coarsest_size() / 3);
    return std::max({int64_t{1}, std::min(fair, smallest_max_weight_ / 4), average_pair(g)});
  }

  // Returns the best initial partition, recombined with the next best ones in turn.
  std::vector<int32_t> best_initial_partition(const WorkGraph<W>& g, Rng& rng) {
    std::vector<Candidate> found;
    const int32_t count = std::max(1, options_.initial_partitions);
    for (int32_t t = 0; t < count && (t == 0 || !control_.should_stop()); ++t) {
      found.emplace_back();
      found.back().score = initial_partition(g, found.back().part, rng.next());
    }
    best_first(found);
    const size_t partners = std::min<size_t>(found.size(), static_cast<size_t>(options_.recombinations) + 1);
    for (size_t c = 1; c < partners && !control_.should_stop(); ++c)
      recombine(g, found[0].part, found[c].part.data(), rng.next());
    return std::move(found[0].part);
  }

  // Computes one initial partition: coarsens anew to the size at which bisections are grown.
  Score initial_partition(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    Rng rng(seed);
    const auto* no_label = static_cast<const int32_t*>(nullptr);
    auto levels = coarsen(g, no_label, coarsest_size(), max_cluster_load(g), rng, g.uneven);
    const WorkGraph<W>& coarsest = levels.empty() ? g : levels.back().graph;
    std::vector<int32_t> coarse(coarsest.n), all(coarsest.n);
    std::iota(all.begin(), all.end(), 0);
    recursive_bisection(coarsest, max_block_weight_, 0, options_.growing_repetitions, rng, control_, all,
                        coarse.data());
    if (coarsest.linear_cost) assign_linear_costs(coarsest, max_block_weight_, coarse.data());
    initial_refinement_.refine(coarsest, coarse, nullptr, rng);
    part = initial_refinement_.uncoarsen(g, levels, std::move(coarse), rng);
    return score(g, part.data(), max_block_weight_);
  }

  std::span<const int64_t> max_block_weight_;
  PartitionOptions options_;
  const Control& control_;
  MultilevelRefinement<W, FlatDistance> initial_refinement_;  // for initial partitions
  MultilevelRefinement<W, FlatDistance> refinement_;  // for the partition that is kept
  int64_t smallest_max_weight_ = 0;
};

}  // namespace hopbytes
