// Which initial partition is made. A new one is a function in a file of its own and a line here.
#include "partition/initial/initial_blocks.hpp"

#include "partition/initial/linear_assignment.hpp"
#include "partition/initial/recursive_bisection.hpp"

namespace hopbytes {

template <class W>
std::vector<int32_t> initial_blocks(const Graph<W>& g, std::span<const int64_t> max_block_weight,
                                    const InitialContext& context, Rng& rng, const Control& control) {
  std::vector<int32_t> block =
      recursive_bisection(g, max_block_weight, context.growing_repetitions, rng, control);
  if (g.linear_cost) assign_linear_costs(g, max_block_weight, block.data());
  return block;
}

template std::vector<int32_t> initial_blocks(const Graph<int32_t>&, std::span<const int64_t>,
                                             const InitialContext&, Rng&, const Control&);
template std::vector<int32_t> initial_blocks(const Graph<int64_t>&, std::span<const int64_t>,
                                             const InitialContext&, Rng&, const Control&);

}  // namespace hopbytes
