// Pairwise repartitioning of one-task-per-slot mappings: the tasks of two units of the machine are
// bisected again, with exactly as many tasks in each unit as before.
//
// With fixed unit sizes, the cost of a task depends on its unit for neighbours outside the two units, and on
// whether both are in the same unit for neighbours inside. This is a bisection problem with linear costs.
// The search starts from the present bisection and from new exact ones (partition/exact_partitioner.hpp) and
// makes passes of two-way FM. A cheaper bisection is carried out by exchanges, a local search in its
// neighbourhood follows, and everything is undone unless the true cost falls.
#pragma once
#include "assignment/swap.hpp"
#include "graph/csr.hpp"
#include "partition/exact_partitioner.hpp"

namespace hopbytes {

struct RepartitionOptions {
  int64_t new_bisections = 1;  // new bisections per pair of units, in addition to the present one
  int64_t rounds = 3;  // passes over all pairs; later passes visit only pairs with a unit that changed
  int64_t budget = 0;  // edges to scan
};

template <class W, class D> class PairwiseRepartition {
 public:
  // Unit u consists of the PEs unit_start[u] .. unit_start[u + 1] - 1.
  PairwiseRepartition(const Graph<W>& graph, SwapSearch<W, D>& search, std::span<const int64_t> unit_start,
                      const RepartitionOptions& options, const Control& control)
      : g_(graph),
        search_(search),
        start_(unit_start),
        options_(options),
        control_(control),
        local_(graph.n, -1),
        sizes_(2, 0),
        load_(2, 0),
        fm_(sizes_, load_),
        bisector_(sizes_, ExactContext{}, control) {}
  PairwiseRepartition(const PairwiseRepartition&) = delete;

  // Works on pairs of units (first, second, first, ...). Returns the change of the cost and counts the pairs
  // that gained.
  int64_t run(In<int32_t> pairs, uint64_t seed, int64_t& gained) {
    std::vector<uint8_t> changed(start_.size(), 1), next;
    int64_t total = 0;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      next.assign(start_.size(), 0);
      for (size_t p = 0; p + 1 < pairs.size(); p += 2) {
        if (!changed[pairs[p]] && !changed[pairs[p + 1]]) continue;
        if (work() >= options_.budget || control_.should_stop()) return total;
        const int64_t change =
            repartition(pairs[p], pairs[p + 1], derive(seed, round * static_cast<int64_t>(pairs.size()) + p));
        if (change < 0) next[pairs[p]] = next[pairs[p + 1]] = 1, ++gained;
        total += change;
      }
      changed.swap(next);
      if (std::find(changed.begin(), changed.end(), 1) == changed.end()) break;
    }
    return total;
  }

  int64_t work() const { return own_work_ + search_.work(); }

 private:
  PeRange range(int32_t unit) const {
    return {static_cast<int32_t>(start_[unit]), static_cast<int32_t>(start_[unit + 1])};
  }

  int64_t repartition(int32_t first, int32_t second, uint64_t seed) {
    const PeRange one = range(first), other = range(second);
    const int64_t between_units = search_.distance(one.first, other.first);
    const int64_t within_units =
        std::max(search_.distance(one.first, one.last - 1), search_.distance(other.first, other.last - 1));
    if (between_units <= within_units) return 0;
    members_.clear();
    // Tasks that are forbidden in one of the units stay; they count as neighbours outside.
    for (const int side : {0, 1}) {
      const int64_t before = static_cast<int64_t>(members_.size());
      for (const int32_t v : search_.tasks(side == 0 ? one : other))
        if (std::max(search_.assignment_cost(v, one.first), search_.assignment_cost(v, other.first)) <
            LinearCost::kForbidden)
          members_.push_back(v);
      sizes_[side] = static_cast<int64_t>(members_.size()) - before;
    }
    if (sizes_[0] == 0 || sizes_[1] == 0) return 0;
    build_pair_graph(one.first, other.first, between_units - within_units);
    std::vector<int32_t> now(members_.size(), 0), best;
    std::fill(now.begin() + sizes_[0], now.end(), 1);
    const int64_t before = bisection_cost(now);
    best = now;
    int64_t least = improve(best);
    for (int64_t t = 0; t < options_.new_bisections && !control_.should_stop(); ++t) {
      std::vector<int32_t> part;
      bisector_.partition(pair_, part, derive(seed, t));
      if (sizes_[0] == sizes_[1]) orient(part);
      if (const int64_t found = improve(part); found < least) least = found, best.swap(part);
    }
    if (least >= before) return 0;
    std::vector<int32_t> leave, come;
    for (size_t m = 0; m < members_.size(); ++m)
      if (best[m] != now[m]) (now[m] == 0 ? leave : come).push_back(members_[m]);
    return search_.attempt(leave, come);
  }

  // Builds the graph among the members, whose weights are multiplied by the cost of separating two tasks, and
  // `bias_`, the cost of a member in the second unit minus that in the first, for its outside neighbours and
  // its linear cost.
  void build_pair_graph(int32_t first, int32_t second, int64_t separation) {
    int64_t bound = 0;
    for (size_t m = 0; m < members_.size(); ++m)
      local_[members_[m]] = static_cast<int32_t>(m), bound += g_.degree(members_[m]);
    pair_ = Graph<int64_t>();
    pair_.allocate(static_cast<int64_t>(members_.size()), bound);
    bias_.assign(members_.size(), 0);
    int64_t filled = 0;
    for (size_t m = 0; m < members_.size(); ++m) {
      const int32_t v = members_[m];
      pair_.own_start[m] = filled;
      pair_.own_load[m] = 1;
      bias_[m] = search_.assignment_cost(v, second) - search_.assignment_cost(v, first);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t w = g_.adj[e];
        if (local_[w] < 0) {
          bias_[m] += g_.weight[e] *
                      (search_.distance(second, search_.pe(w)) - search_.distance(first, search_.pe(w)));
          continue;
        }
        pair_.own_adj[filled] = local_[w];
        pair_.own_weight[filled++] = g_.weight[e] * separation;
      }
    }
    pair_.own_start[pair_.n] = filled;
    pair_.sum_loads();
    for (const int32_t v : members_) local_[v] = -1;
    own_work_ += bound;
  }

  int64_t bisection_cost(const std::vector<int32_t>& part) const {
    int64_t total = edge_cut(pair_, part.data());
    for (size_t m = 0; m < part.size(); ++m) total += part[m] ? bias_[m] : 0;
    return total;
  }

  // The sides of a new bisection have no order: take the cheaper one.
  void orient(std::vector<int32_t>& part) const {
    int64_t bias_sum = 0;
    for (size_t m = 0; m < part.size(); ++m) bias_sum += part[m] ? bias_[m] : -bias_[m];
    if (bias_sum > 0)
      for (int32_t& p : part) p = 1 - p;
  }

  // Makes FM passes from `part`, which keep the sizes. Returns the resulting cost.
  int64_t improve(std::vector<int32_t>& part) {
    load_ = sizes_;
    fm_.attach(pair_, part.data(), bias_.data());
    all_.resize(members_.size());
    std::iota(all_.begin(), all_.end(), 0);
    int64_t gain = 0;
    for (int pass = 0; pass < 8; ++pass) {
      const bool better = fm_.improve(0, 1, all_, typename TwoWayFm<int64_t>::Limits{}, gain);
      own_work_ += fm_.scanned_edges();
      if (!better) break;
    }
    return bisection_cost(part);
  }

  const Graph<W>& g_;
  SwapSearch<W, D>& search_;
  std::span<const int64_t> start_;
  const RepartitionOptions options_;
  const Control& control_;
  std::vector<int32_t> local_, members_, all_;
  std::vector<int64_t> bias_;
  std::vector<int64_t> sizes_, load_;  // of the pair: tasks to hold and tasks held
  TwoWayFm<int64_t> fm_;
  ExactPartitioner<int64_t> bisector_;
  Graph<int64_t> pair_;
  int64_t own_work_ = 0;
};

}  // namespace hopbytes
