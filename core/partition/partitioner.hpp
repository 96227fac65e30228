// One partition of a graph into blocks with maximum weights: several initial partitions of a coarse graph,
// refinement of the best one during uncoarsening, and recombination of several such partitions.
#pragma once
#include "partition/bundles.hpp"
#include "partition/coarsening/fragments.hpp"
#include "partition/exact_partitioner.hpp"
#include "partition/initial/by_degree.hpp"
#include "partition/initial/initial_blocks.hpp"
#include "partition/multilevel.hpp"
#include "partition/refinement/annealing.hpp"
#include "partition/relaxation/relax.hpp"

namespace hopbytes {

// Assigns repetitions to coarsening hierarchies of a large graph. The first `alone` repetitions have a
// hierarchy each, of the others `together` share one, so that the work on the large graph does not grow with
// the number of repetitions: they are compared and recombined on small graphs, and only the best one is
// uncoarsened.
struct RepetitionsByHierarchy {
  int64_t repetitions = 1, alone = 0, together = 1;
  int64_t hierarchies() const { return alone + (repetitions - alone + together - 1) / together; }
  int64_t first_of(int64_t hierarchy) const {
    return std::min(repetitions, hierarchy <= alone ? hierarchy : alone + (hierarchy - alone) * together);
  }
};

template <class W> class Partitioner {
 public:
  // The maximum block weights are kept by reference.
  Partitioner(std::span<const int64_t> max_block_weight, const Context& context, const Control& control)
      : max_block_weight_(max_block_weight),
        context_(context),
        control_(control),
        initial_refiners_(without_flows(context.refinement)),
        refiners_(context.refinement),
        partition_({}, max_block_weight, control.team()),
        smallest_weight_(*std::min_element(max_block_weight.begin(), max_block_weight.end())) {}

  // Assigns repetitions to hierarchies where the graph is large. On lattices, where straight cuts are visible
  // on fine graphs only, half of the hierarchies belong to one repetition each, which find the best
  // partitions.
  RepetitionsByHierarchy hierarchies(const Graph<W>& g, int64_t repetitions) const {
    if (is_road_like(g)) return {repetitions, 0, std::min(repetitions, kRepetitionsOfFragments)};
    if (arcs_are_huge(g)) return {repetitions, 0, repetitions};
    const int64_t alone = is_lattice_like(g) ? context_.hierarchies / 2 : 0;
    const int64_t others = context_.hierarchies - alone;
    if (others < 1 || repetitions <= context_.hierarchies) return {repetitions};
    const int64_t most = (repetitions - alone + others - 1) / others;
    return {repetitions, alone, std::clamp<int64_t>(g.n / shared_contraction_limit(g), 1, most)};
  }

  // Makes `count` independent repetitions, numbered from `first`, on the coarse graph of one shared
  // hierarchy, recombines them in pairs and uncoarsens the best one. On road-like graphs the coarse graph
  // are the fragments between natural cuts, and there are more repetitions. A partition around the core of
  // the graph competes with the first one.
  Score repeat(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t first, int64_t count) {
    const Score found = repeat_multilevel(g, block, seed, first, count);
    return first == 0 ? around_core_if_better(g, block, found, derive(seed, 4)) : found;
  }

  // Contracts vertices that are together in all given partitions (in `block` if `other` is null), starts from
  // `block` and refines during uncoarsening. The result is never worse than `block`.
  Score recombine(const Graph<W>& g, std::vector<int32_t>& block, const int32_t* other, uint64_t seed) {
    if (control_.should_stop()) return score(g, block.data(), max_block_weight_, control_.team());
    Rng rng(seed);
    Score before;
    const auto see = [&](const Graph<W>& coarsest, const std::vector<int32_t>& coarse) {
      // No cut edge is contracted. Forbidden vertices are counted, so contraction makes them fewer.
      const bool counted = g.linear_cost != nullptr;
      before = score(counted ? g : coarsest, (counted ? block : coarse).data(), max_block_weight_,
                     control_.team());
    };
    refine_from(g, coarsening(g), block, other, refiners_, partition_, rng, control_, see);
    const Score after = quality();
    std::vector<int32_t> result = partition_.take_blocks();
    if (before < after) return before;
    block.swap(result);
    return after;
  }

  // Anneals the boundaries of many small blocks and refines them. The result is never worse than `block`.
  Score anneal(const Graph<W>& g, std::vector<int32_t>& block, const Score& before, uint64_t seed) {
    if (!suits_annealing(g, k(), context_.annealing) || before.overload > 0 || control_.should_stop())
      return before;
    Rng rng(seed);
    partition_.assign(g, block);
    Annealing<W>(context_.annealing, context_.refinement.fm).refine(partition_, rng, control_);
    refiners_.start();
    refiners_.refine(partition_, rng, control_);
    const Score found = quality();
    block = partition_.take_blocks();
    return found;
  }

  // Whether the last call of repeat() found a better partition by relaxing the shapes of its blocks.
  bool relaxation_helped() const { return relaxation_helped_; }

 private:
  static RefinementContext without_flows(RefinementContext context) {
    context.flow.rounds = 0;
    return context;
  }

  // Whether hierarchies of several repetitions and subgraphs of blocks would take too much memory beside the
  // arcs. All repetitions share one hierarchy then, and are made on its coarse graph. Where degrees
  // are small, arrays of vertices take as much as the arcs.
  static bool arcs_are_huge(const GraphShape& g) {
    constexpr int64_t many_arcs = 1 << 24, high_degree = 10;
    return g.arcs() > many_arcs && g.arcs() > high_degree * g.n;
  }

  enum class Run { kEqualSizes, kBundles };
  // On road-like graphs: repetitions that share the fragments, and the most runs in place of each of them.
  static constexpr int64_t kRepetitionsOfFragments = 3;
  static constexpr int32_t kMostRunsOnFragments = 2;
  // The numbers of blocks that are computed directly, without bundles.
  static constexpr int64_t kManyBundles = 4, kBisection = 2;

  Run kind_of_run(const Graph<W>& g, int64_t number) const {
    const bool equal_sizes = g.uneven ? number % 4 < 3 && is_divisible(g) : number % 2 == 0 && is_tight(g);
    return equal_sizes ? Run::kEqualSizes : Run::kBundles;
  }

  // Makes one of several independent repetitions. They alternate between kinds of initial partitions, because
  // these find different results: recursive partition into many bundles, or bisection. Where the maximum
  // block weights leave little room, blocks of equal sizes are the first kind: exchanging vertices gets
  // further there than moving single vertices. Where edge weights are uneven, three of four repetitions are
  // of that kind: a bisection from its own coarsening finds the few light edges that matter. Many blocks
  // grown side by side rarely find them, but when they do, the result is better.
  Score repetition(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t number) {
    if (kind_of_run(g, number) == Run::kEqualSizes) {
      const Score found = from_equal_sizes(g, block, seed);
      if (found.overload == 0) return found;
    }
    return partition(g, block, seed, number % 2 == 0 ? kManyBundles : kBisection);
  }

  // repeat() without the partition around the core, which then takes the place of `block` if it is better.
  Score repeat_multilevel(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t first,
                          int64_t count) {
    Rng rng(seed);
    Hierarchy<W> shared(g);
    if (is_road_like(g)) shared = coarsen_to_fragments(g, smallest_weight_, rng, control_);
    // Fragments are few, so more runs are affordable, though not where the context asks for the least effort.
    if (shared.size() > 0) count *= std::clamp(context_.initial.partitions, 1, kMostRunsOnFragments);
    else if (count == 1 && !starts_coarse(g))
      return relaxed(g, block, repetition(g, block, seed, first), derive(seed, 3));
    CoarseningContext limits = coarsening(g);
    limits.target = shared_contraction_limit(g);
    const StartAt<W> best_of_repetitions = [&](const Hierarchy<W>& hierarchy, Rng& seeds) {
      const Graph<W>& small = hierarchy.coarsest();
      std::vector<Candidate> found;
      for (int64_t i = 0; i < count && (i == 0 || !control_.should_stop()); ++i) {
        found.emplace_back();
        found[i].score = repetition(small, found[i].part, seeds.next(), first + i);
      }
      for (best_first(found); found.size() > 1 && !control_.should_stop(); best_first(found)) {
        const size_t half = (found.size() + 1) / 2;
        for (size_t i = half; i < found.size(); ++i)
          found[i - half].score = recombine(small, found[i - half].part, found[i].part.data(), seeds.next());
        found.resize(half);
      }
      return Start{std::move(found[0].part)};
    };
    if (shared.size() == 0) shared = coarsen(g, nullptr, limits, rng, control_);
    uncoarsen(std::move(shared), best_of_repetitions, refiners_, partition_, rng, control_);
    const Score found = quality();
    block = partition_.take_blocks();
    return relaxed(g, block, found, derive(seed, 3));
  }

  // Coarsening mixes the vertices of a core with their many neighbours, and no search separates them again.
  // So a partition whose first blocks hold the vertices of the highest degrees competes with the one that was
  // found.
  Score around_core_if_better(const Graph<W>& g, std::vector<int32_t>& block, const Score& found,
                              uint64_t seed) {
    if (g.linear_cost || control_.should_stop() || !may_have_core(g)) return found;
    std::vector<int32_t> other = blocks_by_degree(g, fair_sizes(max_block_weight_, g.total_load));
    control_.record_work(g.arcs());
    if (!(score(g, other.data(), max_block_weight_, control_.team()) < found)) return found;
    const Score better = recombine(g, other, nullptr, seed);
    block.swap(other);
    return better;
  }

  // Computes a partition from scratch; more than `direct` blocks are computed in bundles.
  Score partition(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t direct) {
    if (k() > direct && g.n > 4 * coarsest_size(g) && !g.linear_cost)
      return in_bundles(g, block, seed, direct);
    Rng rng(seed);
    CoarseningContext limits = coarsening(g);
    limits.target = std::max<int64_t>(context_.initial.contraction_limit, 4 * coarsest_size(g));
    const StartAt<W> best_initial = [&](const Hierarchy<W>& hierarchy, Rng& seeds) {
      return Start{best_initial_partition(hierarchy.coarsest(), seeds)};
    };
    multilevel(g, limits, nullptr, best_initial, refiners_, partition_, rng, control_);
    const Score found = quality();
    block = partition_.take_blocks();
    return found;
  }

  // Partitions into few bundles of blocks, partitions each bundle further on its own, and runs one V-cycle
  // over all blocks. Growing many blocks at once on a small graph gives worse results, and searches among few
  // blocks are faster.
  Score in_bundles(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed, int64_t direct) {
    const int64_t count = std::min<int64_t>(4, (k() + direct - 1) / direct);
    const Bundles bundles(max_block_weight_, count, g.total_load);
    std::vector<int32_t> bundle;
    Partitioner<W>(bundles.max_block_weight, context_, control_)
        .partition(g, bundle, derive(seed, 1), direct);
    const auto partition_bundle = [&](int64_t j, const Graph<W>& sub, const Control& control,
                                      std::vector<int32_t>& inner) {
      const auto weights =
          max_block_weight_.subspan(bundles.first[j], bundles.first[j + 1] - bundles.first[j]);
      Partitioner<W>(weights, context_, control).partition(sub, inner, derive(seed, 2 + j), direct);
    };
    block = partition_apart(g, bundle, bundles.first, control_, partition_bundle);
    return recombine(g, block, nullptr, derive(seed, 10));
  }

  // Relaxes the shapes of the blocks and refines them; keeps the given blocks unless that is better.
  Score relaxed(const Graph<W>& g, std::vector<int32_t>& block, const Score& before, uint64_t seed) {
    const RelaxationContext& how = context_.relaxation;
    relaxation_helped_ = false;
    if (!suits_relaxation(g, k(), how) || control_.should_stop()) return before;
    Rng rng(seed);
    std::vector<int32_t> result = block;
    const CoarseningContext limits = coarsening_limits(g, how.coarsest * k(), smallest_weight_);
    if (!relax_shapes(coarsen(g, nullptr, limits, rng, control_), max_block_weight_, how.rounds, control_,
                      result) ||
        control_.should_stop())
      return before;
    partition_.assign(g, std::move(result));
    refiners_.start();
    refiners_.refine(partition_, rng, control_);
    result = partition_.take_blocks();
    const Score after = recombine(g, result, nullptr, rng.next());
    relaxation_helped_ = after < before;
    if (!relaxation_helped_) return before;
    block.swap(result);
    return after;
  }

  // Computes blocks of equal sizes (in proportion to the maximum weights), then a V-cycle that may use the
  // available room.
  Score from_equal_sizes(const Graph<W>& g, std::vector<int32_t>& block, uint64_t seed) {
    const std::vector<int64_t> size = fair_sizes(max_block_weight_, g.total_load);
    ExactContext exact{std::max(1, context_.initial.partitions)};
    if (g.uneven)
      exact.repetitions = 2,
      exact.recombinations = 1;  // The quality of a single bisection varies much there.
    ExactPartitioner<W>(size, exact, control_).divide(g, block, derive(seed, 1));
    return recombine(g, block, nullptr, derive(seed, 2));
  }

  // Returns the best initial partition, recombined with the next best ones in turn.
  std::vector<int32_t> best_initial_partition(const Graph<W>& g, Rng& rng) {
    // A graph that was to be coarsened further is too large for several searches.
    if (control_.should_stop()) return blocks_in_order(g, max_block_weight_);
    std::vector<Candidate> found(std::max(1, context_.initial.partitions));
    std::vector<uint64_t> seeds(found.size());
    for (uint64_t& seed : seeds) seed = rng.next();
    SideBySide spans(control_, std::ssize(found));
    control_.team().run(std::ssize(found), [&](int32_t worker, int64_t t) {
      if (t > 0 && control_.should_stop()) return;
      const Control own = spans.of(t);
      const bool around_fixed = context_.initial.around_fixed && t % 2 == 1;
      found[t] = worker == 0  // the thread of this partitioner
                     ? initial_partition(g, seeds[t], around_fixed, own)
                     : Partitioner(max_block_weight_, context_, own)
                           .initial_partition(g, seeds[t], around_fixed, own);
    });
    std::erase_if(found, [](const Candidate& candidate) { return candidate.part.empty(); });
    best_first(found);
    const size_t partners =
        std::min<size_t>(found.size(), static_cast<size_t>(context_.initial.recombinations) + 1);
    for (size_t c = 1; c < partners && !control_.should_stop(); ++c)
      recombine(g, found[0].part, found[c].part.data(), rng.next());
    return std::move(found[0].part);
  }

  // Computes one initial partition: coarsens anew to the size at which bisections are grown.
  Candidate initial_partition(const Graph<W>& g, uint64_t seed, bool around_fixed, const Control& control) {
    Rng rng(seed);
    const StartAt<W> from_scratch = [&](const Hierarchy<W>& hierarchy, Rng& numbers) {
      return Start{initial_blocks(hierarchy.coarsest(), max_block_weight_, context_.initial, around_fixed,
                                  numbers, control)};
    };
    multilevel(g, coarsening(g), nullptr, from_scratch, initial_refiners_, partition_, rng, control);
    const Score reached = quality();
    return {reached, partition_.take_blocks()};
  }

  // Returns the quality of partition_. Its refiners leave the boundary known, which contains every cut edge.
  Score quality() {
    const Graph<W>& g = partition_.graph();
    if (g.linear_cost) return score(g, partition_.blocks().data(), max_block_weight_, control_.team());
    partition_.find_boundary();
    return {partition_.overload(), partition_.cost_at_boundary()};
  }
  // Whether blocks of equal sizes are possible: every vertex is small compared with every block, and all
  // vertices fit.
  bool is_divisible(const Graph<W>& g) const {
    return !g.linear_cost && g.total_load > 0 && g.max_load <= smallest_weight_ / 8 && total_slack(g) >= 0;
  }

  // Whether a block has less room than one of its sides needs to move by about one vertex. Many blocks of few
  // vertices are better partitioned the other way.
  // All three constants were measured.
  bool is_tight(const Graph<W>& g) const {
    constexpr int64_t few_blocks = 16, few_vertices = 96;
    if (!is_divisible(g) || (k() > few_blocks && g.n < few_vertices * k())) return false;
    const auto vertices = static_cast<double>(g.n), blocks = static_cast<double>(k());
    const double side = static_cast<double>(g.total_load) / vertices * std::sqrt(vertices / blocks);
    return total_slack(g) / blocks < 0.8 * side;
  }

  double total_slack(const Graph<W>& g) const {
    return std::accumulate(max_block_weight_.begin(), max_block_weight_.end(), 0.0) -
           static_cast<double>(g.total_load);
  }

  // Returns whether a single repetition is made on a coarse graph, too, and uncoarsened. On a large graph
  // that takes half the work of bundles of blocks of the graph itself, and the cut is as light. Lattices need
  // fine graphs, and so do blocks with little room and the few light edges of uneven weights. Four times the
  // limit was measured: from twice the limit on, cuts are heavier.
  bool starts_coarse(const Graph<W>& g) const {
    return g.n >= 4 * shared_contraction_limit(g) && !g.linear_cost && !g.uneven && !is_tight(g) &&
           (arcs_are_huge(g) || !is_lattice_like(g));
  }

  CoarseningContext coarsening(const Graph<W>& g) const {
    CoarseningContext limits = coarsening_limits(g, coarsest_size(g), smallest_weight_);
    limits.heaviest_edges_first = g.uneven;
    return limits;
  }

  int64_t coarsest_size(const Graph<W>& g) const {
    return coarsest_vertices(g.n, context_.initial.coarsest, k());
  }

  // The contraction limit of shared hierarchies. Between 2000 and 8000 J hardly differs (eight graphs, two
  // seeds).
  int64_t shared_contraction_limit(const Graph<W>& g) const {
    return std::max<int64_t>(4000, 4 * coarsest_size(g));
  }

  int64_t k() const { return static_cast<int64_t>(max_block_weight_.size()); }

  std::span<const int64_t> max_block_weight_;
  Context context_;
  const Control& control_;
  RefinerChain<W> initial_refiners_;  // for initial partitions
  RefinerChain<W> refiners_;          // for the partition that is kept
  Partition<W> partition_;            // keeps its buffers from call to call
  int64_t smallest_weight_;           // of the maximum block weights
  bool relaxation_helped_ = false;
};

}  // namespace hopbytes
