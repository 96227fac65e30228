#include "partition/exact_placement.hpp"

#include <algorithm>

#include "partition/partition.hpp"
#include "partition/refinement/annealing.hpp"
#include "partition/refinement/even_sizes.hpp"

namespace hopbytes {

template <class W>
bool even_placement(const Graph<W>& g, const AnyDistance& distance, std::span<const int64_t> size,
                    uint64_t seed, const AnnealingContext& annealing, const Control& control,
                    std::span<int32_t> pe) {
  Rng rng(seed);
  Partition<W> partition(distance, size, control.team());
  partition.assign(g, std::vector<int32_t>(pe.begin(), pe.end()));
  if (suits_annealing(g, partition.k(), annealing))
    Annealing<W>(annealing, FmContext{}, true).anneal(partition, rng, control);
  std::vector<int64_t> load = partition.loads();
  std::vector<int32_t> block = partition.take_blocks();
  const bool even = EvenSizes().refine(g, distance, block, load, size, control);
  std::copy(block.begin(), block.end(), pe.begin());
  return even;
}

template bool even_placement(const Graph<int32_t>&, const AnyDistance&, std::span<const int64_t>, uint64_t,
                             const AnnealingContext&, const Control&, std::span<int32_t>);
template bool even_placement(const Graph<int64_t>&, const AnyDistance&, std::span<const int64_t>, uint64_t,
                             const AnnealingContext&, const Control&, std::span<int32_t>);

}  // namespace hopbytes
