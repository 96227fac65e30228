#include "partition/vcycles.hpp"

#include <numeric>

#include "partition/multilevel.hpp"
#include "partition/refinement/annealing.hpp"
#include "partition/refinement/even_sizes.hpp"

namespace hopbytes {

namespace {

// Anneals the boundaries of PEs if that is expected to help.
template <class W>
void anneal(const Graph<W>& g, const VCycleSettings& settings, RefinerChain<W>& refiners,
            Partition<W>& partition, Rng& rng, const Control& control, std::vector<int32_t>& pe) {
  if (!suits_annealing(g, partition.k(), settings.annealing)) return;
  partition.assign(g, std::move(pe));
  if (settings.anneal_distant || near_blocks_matter(g, partition)) {
    Annealing<W>(settings.annealing, settings.refinement.fm).refine(partition, rng, control);
    refiners.refine(partition, rng, control);
  }
  pe = partition.take_blocks();
}

// Runs one sequence of cycles on pe, in place. Returns the number of moves made.
template <class W>
int64_t run_cycles(const Graph<W>& g, const AnyDistance& distance, std::span<const int64_t> max_block_weight,
                   uint64_t seed, const VCycleSettings& settings, const Control& control,
                   std::vector<int32_t>& pe) {
  Rng rng(seed);
  RefinerChain<W> refiners(settings.refinement);
  Partition<W> partition(distance, max_block_weight, control.team());
  if (settings.cycles == 0) {
    partition.assign(g, std::move(pe));
    refiners.refine(partition, rng, control);
    pe = partition.take_blocks();
  }
  const auto k = static_cast<int64_t>(max_block_weight.size());
  const int64_t smallest = *std::min_element(max_block_weight.begin(), max_block_weight.end());
  const CoarseningContext limits = coarsening_limits(g, settings.coarsest * k, smallest);
  for (int32_t cycle = 0; cycle < settings.cycles && !control.should_stop(); ++cycle) {
    const bool alone = static_cast<size_t>((cycle + 1) * g.n) > settings.others.size();
    const int32_t* other = alone ? nullptr : settings.others.data() + cycle * g.n;
    refine_from(g, limits, pe, other, refiners, partition, rng, control, [](const auto&, const auto&) {});
    std::vector<int32_t> result = partition.take_blocks();
    if (placement_cost(g, result.data(), distance) <= placement_cost(g, pe.data(), distance)) pe.swap(result);
  }
  if (!control.should_stop()) anneal(g, settings, refiners, partition, rng, control, pe);
  return partition.moves();
}

}  // namespace

template <class W>
int64_t refine_placement(const Graph<W>& g, const AnyDistance& distance,
                         std::span<const int64_t> max_block_weight, uint64_t seed,
                         const VCycleSettings& settings, const Control& control, std::span<int32_t> pe) {
  const int32_t chains = std::max(1, settings.chains);
  std::vector<std::vector<int32_t>> result(chains);
  std::vector<int64_t> moves(chains, 0), found(chains, std::numeric_limits<int64_t>::max());
  SideBySide spans(control, chains);
  parallel_for(chains, control.team(), [&](int64_t c) {
    if (c > 0 && control.should_stop()) return;
    result[c].assign(pe.begin(), pe.end());
    moves[c] = run_cycles(g, distance, max_block_weight, derive(seed, c), settings, spans.of(c), result[c]);
    found[c] = chains > 1 ? placement_cost(g, result[c].data(), distance) : 0;
  });
  const auto best = std::min_element(found.begin(), found.end()) - found.begin();
  std::copy(result[best].begin(), result[best].end(), pe.begin());
  return std::accumulate(moves.begin(), moves.end(), int64_t{0});
}

template <class W>
bool even_placement(const Graph<W>& g, const AnyDistance& distance, std::span<const int64_t> size,
                    uint64_t seed, const AnnealingContext& annealing, const Control& control,
                    std::span<int32_t> pe) {
  Rng rng(seed);
  Partition<W> partition(distance, size, control.team());
  partition.assign(g, std::vector<int32_t>(pe.begin(), pe.end()));
  if (suits_annealing(g, partition.k(), annealing))
    Annealing<W>(annealing, FmContext{}, true).anneal(partition, rng, control);
  const bool even = even_sizes(partition, control);
  std::copy(partition.blocks().begin(), partition.blocks().end(), pe.begin());
  return even;
}

template int64_t refine_placement(const Graph<int32_t>&, const AnyDistance&, std::span<const int64_t>,
                                  uint64_t, const VCycleSettings&, const Control&, std::span<int32_t>);
template int64_t refine_placement(const Graph<int64_t>&, const AnyDistance&, std::span<const int64_t>,
                                  uint64_t, const VCycleSettings&, const Control&, std::span<int32_t>);

template bool even_placement(const Graph<int32_t>&, const AnyDistance&, std::span<const int64_t>, uint64_t,
                             const AnnealingContext&, const Control&, std::span<int32_t>);
template bool even_placement(const Graph<int64_t>&, const AnyDistance&, std::span<const int64_t>, uint64_t,
                             const AnnealingContext&, const Control&, std::span<int32_t>);

}  // namespace hopbytes
