// What runs on every level of a multilevel partitioner, and what the levels run in turn.
#pragma once
#include "util/control.hpp"
#include "partition/context.hpp"
#include "partition/partition.hpp"
#include "util/assert.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Improves a partition in place. It overloads no block, and lowers the cost unless it removes overload.
template <class W> class Refiner {
 public:
  virtual ~Refiner() = default;
  // Called before the coarsest graph of each uncoarsening.
  virtual void start() {}
  virtual void refine(Partition<W>& partition, Rng& rng, const Control& control) = 0;
};

// Refiners that run in turn; a chain may be empty. A chain keeps the buffers of its refiners, so it serves
// one thread.
template <class W> class RefinerChain {
 public:
  RefinerChain() = default;
  // The refiners that the context asks for.
  explicit RefinerChain(const RefinementContext& context);

  template <class R> R& add(std::unique_ptr<R> refiner) {
    R& added = *refiner;
    refiners_.push_back(std::move(refiner));
    return added;
  }
  void start() {
    for (const auto& refiner : refiners_) refiner->start();
  }
  void refine(Partition<W>& partition, Rng& rng, const Control& control) {
    const int64_t scanned_before = partition.scanned_edges();
    for (const auto& refiner : refiners_) {
      if (control.should_stop() && partition.overload() == 0) break;
      refiner->refine(partition, rng, control);
      HOPBYTES_CHECK(partition.verify());
    }
    control.record_work(partition.scanned_edges() - scanned_before);
    // Loads are summed and the boundary is found by ranges.
    const int64_t n = partition.graph().n;
    control.record_parallel_work(n, std::min(n, kVerticesPerRange));
  }

 private:
  std::vector<std::unique_ptr<Refiner<W>>> refiners_;
};

}  // namespace hopbytes
