// One multilevel partition of a graph into blocks with maximum weights: coarsening, several initial
// partitions of a coarse graph, refinement of the best one during uncoarsening, and recombination of several
// such partitions.
#pragma once
#include "climb.hpp"
#include "exact.hpp"
#include "initial.hpp"

namespace hopbytes {

// The defaults stand in Python (PartitionSettings).
struct PartitionOptions {
  int32_t tries = 1;  // initial partitions of the graph at the contraction limit
  int32_t middle = 0;  // vertices at which the first coarsening ends; initial partitions are compared there
  int32_t coarsest = 1;  // vertices per block of the graph on which bisections are grown
  int32_t growths = 1;  // grown bisections per initial bisection
  int32_t combines = 0;  // recombinations of the initial partitions
  int32_t ways = 0;  // coarsening hierarchies of a large graph that repetitions share, at least; 0: one each
  SearchOptions search;
  FlowOptions flow;  // used from the contraction limit upwards
};

// Assigns repetitions to coarsening hierarchies of a large graph. The first repetitions have a hierarchy
// each, the others share some, so that the work on the large graph does not grow with the number of
// repetitions: they are compared and recombined on small graphs, and only the best one is uncoarsened.
struct Ways {
  int64_t runs = 1, alone = 0, share = 1;
  int64_t count() const { return alone + (runs - alone + share - 1) / share; }
  int64_t first(int64_t way) const { return std::min(runs, way <= alone ? way : alone + (way - alone) * share); }
};

template <class W> class Multilevel {
 public:
  Multilevel(std::span<const int64_t> cap, const PartitionOptions& options, const Control& control)
      : cap_(cap), options_(options), control_(control), climb_({}, cap, options.search, FlowOptions{0}, control),
        fine_climb_({}, cap, options.search, options.flow, control) {
    smallest_cap_ = *std::min_element(cap.begin(), cap.end());
  }

  // Assigns repetitions to hierarchies where the graph is large. Half of the hierarchies belong to one
  // repetition each: on lattices, where straight cuts are visible on fine graphs only, these find the best
  // partitions.
  Ways ways(const WorkGraph<W>& g, int64_t runs) const {
    const int64_t alone = options_.ways / 2, others = options_.ways - alone;
    if (others < 1 || runs <= options_.ways) return {runs};
    return {runs, alone, std::clamp<int64_t>(g.n / shared_size(), 1, (runs - alone + others - 1) / others)};
  }

  // Makes `count` independent repetitions, numbered from `first`, on the coarse graph of one shared
  // hierarchy, recombines them in pairs and uncoarsens the best one.
  Score run(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t first, int64_t count) {
    if (count == 1) return run(g, part, seed, first);
    Rng rng(seed);
    const auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), shared_size(), max_pair(g), rng, g.uneven);
    const WorkGraph<W>& small = levels.empty() ? g : levels.back().graph;
    std::vector<Candidate> found;
    for (int64_t i = 0; i < count && (i == 0 || !control_.hurry()); ++i) {
      found.emplace_back();
      found[i].score = run(small, found[i].part, rng.next(), first + i);
    }
    for (best_first(found); found.size() > 1 && !control_.hurry(); best_first(found)) {
      const size_t half = (found.size() + 1) / 2;
      for (size_t i = half; i < found.size(); ++i)
        found[i - half].score = combine(small, found[i - half].part, found[i].part.data(), rng.next());
      found.resize(half);
    }
    fine_climb_.refine(small, found[0].part, nullptr, rng);
    part = fine_climb_.uncoarsen(g, levels, std::move(found[0].part), rng);
    return score(g, part.data(), cap_);
  }

  // Makes one of several independent repetitions. They alternate between kinds of initial partitions, because
  // these find different results: recursive partition into many bundles, or bisection. Where the maximum
  // block weights leave little room, blocks of equal sizes are the first kind: exchanging vertices gets
  // further there than moving single vertices. Where edge weights are uneven, three of four repetitions are
  // of that kind: a bisection from its own coarsening finds the few light edges that matter. Many blocks
  // grown side by side rarely find them, but when they do, the result is better.
  Score run(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t number) {
    if (g.uneven ? number % 4 < 3 && divisible(g) : number % 2 == 0 && tight(g)) {
      const Score found = from_equal(g, part, seed);
      if (found.overload == 0) return found;
    }
    return partition(g, part, seed, number % 2 ? 2 : 4);
  }

  // Computes a partition from scratch; more than `direct` blocks are computed in bundles.
  Score partition(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t direct = 4) {
    if (static_cast<int64_t>(cap_.size()) > direct && g.n > 4 * initial_size() && !g.unary)
      return nested(g, part, seed, direct);
    Rng rng(seed);
    const int64_t target = std::max<int64_t>(options_.middle, 4 * initial_size());
    auto levels = coarsen(g, static_cast<const int32_t*>(nullptr), target, max_pair(g), rng, g.uneven);
    const WorkGraph<W>& middle = levels.empty() ? g : levels.back().graph;
    std::vector<int32_t> coarse = best_try(middle, rng);
    fine_climb_.refine(middle, coarse, nullptr, rng);
    part = fine_climb_.uncoarsen(g, levels, std::move(coarse), rng);
    return score(g, part.data(), cap_);
  }

  // Contracts what all given partitions agree on, starts from the best one and refines during uncoarsening.
  // The result is never worse than the first partition.
  Score combine(const WorkGraph<W>& g, std::vector<int32_t>& part, const int32_t* other, uint64_t seed) {
    Rng rng(seed);
    const std::vector<int32_t> label = other ? common_refinement(part, other, static_cast<int64_t>(cap_.size())) : part;
    const Score before = score(g, part.data(), cap_);
    auto levels = coarsen(g, label.data(), initial_size(), max_pair(g), rng, g.uneven);
    std::vector<int32_t> coarse = project_down(levels, part);
    const WorkGraph<W>& coarsest = levels.empty() ? g : levels.back().graph;
    fine_climb_.refine(coarsest, coarse, nullptr, rng);
    std::vector<int32_t> result = fine_climb_.uncoarsen(g, levels, std::move(coarse), rng);
    const Score after = score(g, result.data(), cap_);
    if (before < after) return before;
    part.swap(result);
    return after;
  }

 private:
  // Returns whether a block has less room than one of its sides needs to move by about one vertex. Many
  // blocks of few vertices are better partitioned the other way. All three constants were measured.
  bool tight(const WorkGraph<W>& g) const {
    constexpr int64_t few_blocks = 16, few_vertices = 96;
    const int64_t k = static_cast<int64_t>(cap_.size());
    if (!divisible(g) || (k > few_blocks && g.n < few_vertices * k)) return false;
    const double vertex = static_cast<double>(g.total_load) / static_cast<double>(g.n);
    const double blocks = static_cast<double>(k);
    const double side = vertex * std::sqrt(static_cast<double>(g.n) / blocks);
    return room_beside(g) / blocks < 0.8 * side;
  }

  // Returns whether blocks of equal sizes are possible: every vertex is small compared with every block, and
  // all vertices fit.
  bool divisible(const WorkGraph<W>& g) const {
    return !g.unary && g.total_load > 0 && g.max_load <= smallest_cap_ / 8 && room_beside(g) >= 0;
  }
  double room_beside(const WorkGraph<W>& g) const {
    return std::accumulate(cap_.begin(), cap_.end(), 0.0) - static_cast<double>(g.total_load);
  }

  // Computes blocks of equal sizes (in proportion to the maximum weights), then a V-cycle that may use the
  // available room.
  Score from_equal(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed) {
    const std::vector<int64_t> size = fair_sizes(g.total_load);
    ExactOptions how{std::max(1, options_.tries)};
    if (g.uneven) how.runs = 2, how.combines = 1;  // The quality of a single bisection varies much there.
    ExactPartition<W>(size, how, control_).partition(g, part, derive(seed, 1));
    return combine(g, part, nullptr, derive(seed, 2));
  }

  // Divides the load in proportion to the maximum block weights, which it does not exceed.
  std::vector<int64_t> fair_sizes(int64_t load) const {
    const double room = std::accumulate(cap_.begin(), cap_.end(), 0.0);
    std::vector<int64_t> size(cap_.size());
    int64_t left = load;
    for (size_t b = 0; b < cap_.size(); ++b) {
      const double share = static_cast<double>(load) * (static_cast<double>(cap_[b]) / room);
      left -= size[b] = std::min(cap_[b], static_cast<int64_t>(share));
    }
    for (size_t b = 0, full = 0; left > 0 && full < cap_.size(); b = (b + 1) % cap_.size()) {
      if (size[b] < cap_[b]) ++size[b], --left, full = 0;
      else ++full;
    }
    return size;
  }

  // Partitions into few bundles of blocks, partitions each bundle further on its own, and runs one V-cycle
  // over all blocks. Growing many blocks at once on a small graph gives worse results, and searches among few
  // blocks are faster.
  Score nested(const WorkGraph<W>& g, std::vector<int32_t>& part, uint64_t seed, int64_t direct) {
    const int64_t k = static_cast<int64_t>(cap_.size());
    const int64_t bundles = std::min<int64_t>(4, (k + direct - 1) / direct);
    const double levels = 1 + std::ceil(std::log2(static_cast<double>(k) / static_cast<double>(bundles)) / 3);
    std::vector<int64_t> first(bundles + 1, 0), room(bundles, 0), cap(bundles);
    for (int64_t j = 0; j < bundles; ++j) {
      first[j + 1] = k * (j + 1) / bundles;
      for (int64_t b = first[j]; b < first[j + 1]; ++b) room[j] += cap_[b];
    }
    const double scale = static_cast<double>(g.total_load) / static_cast<double>(std::accumulate(room.begin(), room.end(), int64_t{0}));
    for (int64_t j = 0; j < bundles; ++j) {
      const int64_t fair = std::min(room[j], static_cast<int64_t>(std::ceil(static_cast<double>(room[j]) * scale)));
      // Some of the slack is left for the partitions of the bundles.
      cap[j] = fair + static_cast<int64_t>(static_cast<double>(room[j] - fair) / levels);
    }
    std::vector<int32_t> bundle, local(g.n);
    Multilevel<W>(cap, options_, control_).partition(g, bundle, derive(seed, 1), direct);
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
        Multilevel<W>(cap_.subspan(first[j], first[j + 1] - first[j]), options_, control_)
            .partition(sub, inner, derive(seed, 2 + j), direct);
      for (int64_t i = 0; i < sub.n; ++i) part[members[j][i]] = static_cast<int32_t>(first[j]) + inner[i];
    }
    return combine(g, part, nullptr, derive(seed, 10));
  }

  // The contraction limit of shared hierarchies. Between 2000 and 8000 J hardly differs (eight graphs, two
  // seeds).
  int64_t shared_size() const { return std::max<int64_t>(4000, 4 * initial_size()); }
  int64_t initial_size() const { return std::max<int64_t>(2, options_.coarsest * static_cast<int64_t>(cap_.size())); }
  int64_t max_pair(const WorkGraph<W>& g) const {
    // Light enough to leave the coarsest graph balanced; a pair of average vertices always fits.
    const int64_t fair = g.total_load / std::max<int64_t>(1, initial_size() / 3);
    return std::max({int64_t{1}, std::min(fair, smallest_cap_ / 4), average_pair(g)});
  }

  // Returns the best initial partition, recombined with the next best ones in turn.
  std::vector<int32_t> best_try(const WorkGraph<W>& middle, Rng& rng) {
    std::vector<Candidate> tries;
    for (int32_t t = 0; t < std::max(1, options_.tries) && (t == 0 || !control_.hurry()); ++t) {
      tries.emplace_back();
      tries.back().score = attempt(middle, tries.back().part, rng.next());
    }
    best_first(tries);
    const size_t partners = std::min<size_t>(tries.size(), static_cast<size_t>(options_.combines) + 1);
    for (size_t c = 1; c < partners && !control_.hurry(); ++c)
      combine(middle, tries[0].part, tries[c].part.data(), rng.next());
    return std::move(tries[0].part);
  }

  // Computes one initial partition: coarsens anew to the size at which bisections are grown.
  Score attempt(const WorkGraph<W>& middle, std::vector<int32_t>& part, uint64_t seed) {
    Rng rng(seed);
    auto levels =
        coarsen(middle, static_cast<const int32_t*>(nullptr), initial_size(), max_pair(middle), rng, middle.uneven);
    const WorkGraph<W>& coarsest = levels.empty() ? middle : levels.back().graph;
    std::vector<int32_t> coarse(coarsest.n), all(coarsest.n);
    std::iota(all.begin(), all.end(), 0);
    recursive_bisection(coarsest, cap_, 0, options_.growths, rng, control_, all, coarse.data());
    if (coarsest.unary) settle(coarsest, cap_, coarse.data());
    climb_.refine(coarsest, coarse, nullptr, rng);
    part = climb_.uncoarsen(middle, levels, std::move(coarse), rng);
    return score(middle, part.data(), cap_);
  }

  std::span<const int64_t> cap_;
  PartitionOptions options_;
  const Control& control_;
  Climb<W, FlatDistance> climb_;  // for initial partitions
  Climb<W, FlatDistance> fine_climb_;  // for the partition that is kept
  int64_t smallest_cap_ = 0;
};

}  // namespace hopbytes
