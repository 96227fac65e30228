// FM that may overload blocks for a while.
#pragma once
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"

namespace hopbytes {

// Unconstrained FM (Maas, Gottesbüren, Seemaier 2024): refines under looser maximum block weights, then under
// the true ones, which moves vertices out of the overloaded blocks. The result is kept if it costs less. This
// leaves local optima that exist only because the maximum block weights are tight. During one uncoarsening
// the permitted overload shrinks after every attempt without a gain.
template <class W> class UnconstrainedFm : public Refiner<W> {
 public:
  UnconstrainedFm(const FmContext& context, int32_t overload_percent)
      : fm_(context), most_percent_(overload_percent), percent_(overload_percent) {}

  void start() override { percent_ = most_percent_; }
  void refine(Partition<W>& partition, Rng& rng, const Control& control) override;

 private:
  Rebalance<W> rebalance_;
  LocalFm<W> fm_;
  int32_t most_percent_;
  int32_t percent_;  // by which the next attempt may overload the blocks
};

}  // namespace hopbytes
