// The tasks of two units of the machine bisected again, with exactly as many tasks in each unit as before.
//
// With fixed unit sizes, the cost of a task depends on its unit for neighbours outside the two units, and on
// whether both are in the same unit for neighbours inside. This is a bisection problem with linear costs.
// The search starts from the present bisection and from new exact ones (partition/exact_partitioner.hpp) and
// makes passes of two-way FM.
#pragma once
#include "assignment/swap.hpp"
#include "graph/csr.hpp"
#include "partition/exact_partitioner.hpp"

namespace hopbytes {

// A cheaper bisection of two units: the tasks that leave the first one for the second, and those that come
// from there; none if nothing cheaper was found.
struct Bisected {
  std::vector<int32_t> leave, come;
  int64_t work = 0;               // scanned edges, without those of new bisections,
  int64_t new_work = 0, span = 0;  // which are counted here
};

// Leaves the mapping of the search as it is. What it finds depends only on the tasks of both units and on
// where their neighbours are.
template <class W, class D> class PairBisection {
 public:
  // Unit u consists of the PEs unit_start[u] .. unit_start[u + 1] - 1.
  PairBisection(const Graph<W>& graph, const SwapSearch<W, D>& search, std::span<const int64_t> unit_start,
                int64_t new_bisections, const Control& control)
      : g_(graph),
        search_(search),
        start_(unit_start),
        new_bisections_(new_bisections),
        control_(control.with_counters(&found_.new_work, &found_.span)),
        local_(graph.n, -1),
        sizes_(2, 0),
        load_(2, 0),
        fm_(sizes_, load_),
        bisector_(sizes_, ExactContext{}, control_) {}
  PairBisection(const PairBisection&) = delete;

  Bisected run(int32_t first, int32_t second, uint64_t seed) {
    found_ = {};
    bisect(range(first), range(second), seed);
    return std::move(found_);
  }

 private:
  PeRange range(int32_t unit) const {
    return {static_cast<int32_t>(start_[unit]), static_cast<int32_t>(start_[unit + 1])};
  }

  void bisect(PeRange one, PeRange other, uint64_t seed) {
    const int64_t between_units = search_.distance(one.first, other.first);
    const int64_t within_units =
        std::max(search_.distance(one.first, one.last - 1), search_.distance(other.first, other.last - 1));
    if (between_units <= within_units) return;
    find_members(one, other);
    if (sizes_[0] == 0 || sizes_[1] == 0) return;
    build_pair_graph(one.first, other.first, between_units - within_units);
    fm_.forget_searches();
    std::vector<int32_t> now(members_.size(), 0), best;
    std::fill(now.begin() + sizes_[0], now.end(), 1);
    const int64_t before = bisection_cost(now);
    best = now;
    int64_t least = improve(best);
    for (int64_t t = 0; t < new_bisections_ && !control_.should_stop(); ++t) {
      std::vector<int32_t> part;
      bisector_.partition(pair_, part, derive(seed, t));
      if (sizes_[0] == sizes_[1]) orient(part);
      if (const int64_t cost = improve(part); cost < least) least = cost, best.swap(part);
    }
    if (least >= before) return;
    for (size_t m = 0; m < members_.size(); ++m)
      if (best[m] != now[m]) (now[m] == 0 ? found_.leave : found_.come).push_back(members_[m]);
  }

  // Tasks that are forbidden in one of the units stay; they count as neighbours outside.
  void find_members(PeRange one, PeRange other) {
    members_.clear();
    for (const int side : {0, 1}) {
      const int64_t before = static_cast<int64_t>(members_.size());
      for (const int32_t v : search_.tasks(side == 0 ? one : other))
        if (std::max(search_.assignment_cost(v, one.first), search_.assignment_cost(v, other.first)) <
            LinearCost::kForbidden)
          members_.push_back(v);
      sizes_[side] = static_cast<int64_t>(members_.size()) - before;
    }
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
    found_.work += bound;
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
    fm_.weigh_blocks();
    all_.resize(members_.size());
    std::iota(all_.begin(), all_.end(), 0);
    int64_t gain = 0;
    for (int pass = 0; pass < 8; ++pass) {
      const bool better =
          fm_.improve(0, 1, all_, typename TwoWayFm<int64_t>::Limits{}, control_.team(), gain);
      found_.work += fm_.scanned_edges();
      if (!better) break;
    }
    return bisection_cost(part);
  }

  const Graph<W>& g_;
  const SwapSearch<W, D>& search_;
  std::span<const int64_t> start_;
  const int64_t new_bisections_;
  Bisected found_;
  const Control control_;
  std::vector<int32_t> local_, members_, all_;
  std::vector<int64_t> bias_;
  std::vector<int64_t> sizes_, load_;  // of the pair: tasks to hold and tasks held
  TwoWayFm<int64_t> fm_;
  ExactPartitioner<int64_t> bisector_;
  Graph<int64_t> pair_;
};

}  // namespace hopbytes
