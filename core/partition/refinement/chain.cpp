// Which refiners run on every level. A new refiner is a class in a file of its own and a line here.
#include "partition/refinement/flow_refinement.hpp"
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"
#include "partition/refinement/refiner.hpp"
#include "partition/refinement/unconstrained_fm.hpp"

namespace hopbytes {

template <class W> RefinerChain<W>::RefinerChain(const RefinementContext& context) {
  add(std::make_unique<Rebalance<W>>());
  add(std::make_unique<LocalFm<W>>(context.fm));
  add(std::make_unique<Rebalance<W>>());
  if (context.overload_percent > 0)
    add(std::make_unique<UnconstrainedFm<W>>(context.fm, context.overload_percent));
  if (context.flow.rounds > 0) add(std::make_unique<FlowRefinement<W>>(context.flow));
}

template class RefinerChain<int32_t>;
template class RefinerChain<int64_t>;

}  // namespace hopbytes
