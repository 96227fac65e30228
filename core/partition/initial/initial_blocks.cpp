// Which initial partition is made. A new one is a function in a file of its own and a line here.
#include "partition/initial/initial_blocks.hpp"

#include "partition/initial/linear_assignment.hpp"
#include "partition/initial/recursive_bisection.hpp"

namespace hopbytes {

namespace {

// Returns the only block that a vertex may be on, -1 where there are several; nothing if none is fixed.
std::vector<int32_t> only_blocks(const LinearCost* costs) {
  if (!costs) return {};
  std::vector<int32_t> block(costs->n(), -1);
  bool any = false;
  for (int64_t v = 0; v < costs->n(); ++v) {
    if (costs->rest[v] < LinearCost::kForbidden || costs->listed(v).size() != 1) continue;
    block[v] = costs->listed(v).front();
    any = true;
  }
  return any ? block : std::vector<int32_t>();
}

}  // namespace

template <class W>
std::vector<int32_t> initial_blocks(const Graph<W>& g, std::span<const int64_t> max_block_weight,
                                    const InitialContext& context, bool around_fixed, Rng& rng,
                                    const Control& control) {
  const std::vector<int32_t> home = only_blocks(around_fixed ? g.linear_cost.get() : nullptr);
  std::vector<int32_t> block =
      recursive_bisection(g, max_block_weight, home, context.growing_repetitions, rng, control);
  if (g.linear_cost) assign_linear_costs(g, max_block_weight, block.data());
  return block;
}

template std::vector<int32_t> initial_blocks(const Graph<int32_t>&, std::span<const int64_t>,
                                             const InitialContext&, bool, Rng&, const Control&);
template std::vector<int32_t> initial_blocks(const Graph<int64_t>&, std::span<const int64_t>,
                                             const InitialContext&, bool, Rng&, const Control&);

}  // namespace hopbytes
