// Pairwise repartitioning of one-task-per-slot mappings: the tasks of two units of the machine are bisected
// again. A cheaper bisection is carried out by exchanges, a local search in its neighbourhood follows, and
// everything is undone unless the true cost falls.
//
// Pairs are bisected in batches, which threads share, and carried out in their order. A bisection depends on
// the tasks of its units and on where their neighbours are: if an earlier pair of the batch has changed that,
// the pair is bisected anew. So the result is that of one thread.
#pragma once
#include "assignment/swap.hpp"
#include "partition/exact_partitioner.hpp"
#include "partition/refinement/two_way_fm.hpp"

namespace hopbytes {

// A cheaper bisection of two units: the tasks that leave the first one, and those that come; none if none
// was found.
struct Bisected {
  std::vector<int32_t> leave, come;
  int64_t work = 0;  // scanned edges, without those of new bisections,
  int64_t new_work = 0, span = 0;  // which are counted here
};

// Bisects the tasks of two units, each of which keeps its number of tasks. The cost of a task depends on its
// unit for neighbours outside the two units, and on whether both are in the same unit for neighbours inside:
// a bisection problem with linear costs. The search starts from the present bisection and from new exact ones
// and makes passes of two-way FM. It leaves the mapping as it is.
template <class W, class D> class PairBisection {
 public:
  // Unit u consists of the PEs unit_start[u] .. unit_start[u + 1] - 1.
  PairBisection(const SwapState<W, D>& state, In<int64_t> unit_start, int64_t new_bisections,
                const Control& control)
      : g_(state.graph()),
        costs_(state.costs()),
        slots_(state.slots()),
        start_(unit_start),
        new_bisections_(new_bisections),
        control_(control.with_counters(&found_.new_work, &found_.span)),
        local_(g_.n, -1),
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
    const int64_t between_units = costs_.distance()(one.first, other.first);
    const int64_t within_units =
        std::max(costs_.distance()(one.first, one.last - 1), costs_.distance()(other.first, other.last - 1));
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
      bisector_.divide(pair_, part, derive(seed, t));
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
      for (const int32_t v : slots_.tasks(side == 0 ? one : other))
        if (std::max(costs_.assignment_cost(v, one.first), costs_.assignment_cost(v, other.first)) <
            LinearCost::kForbidden)
          members_.push_back(v);
      sizes_[side] = static_cast<int64_t>(members_.size()) - before;
    }
  }

  // Builds the graph among the members, with weights times the cost of separating two tasks, and `bias_`,
  // what a member costs more in the second unit for its outside neighbours and its linear cost.
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
      bias_[m] = costs_.assignment_cost(v, second) - costs_.assignment_cost(v, first);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t w = g_.adj[e];
        if (local_[w] < 0) {
          bias_[m] += g_.weight[e] *
                      (costs_.distance()(second, costs_.pe(w)) - costs_.distance()(first, costs_.pe(w)));
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
    const auto all = numbers_below<int32_t>(std::ssize(members_));
    int64_t gain = 0;
    for (int pass = 0; pass < 8; ++pass) {
      const bool better = fm_.improve(0, 1, all, typename TwoWayFm<int64_t>::Limits{}, control_.team(), gain);
      found_.work += fm_.scanned_edges();
      if (!better) break;
    }
    return bisection_cost(part);
  }

  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  const Slots& slots_;
  In<int64_t> start_;
  const int64_t new_bisections_;
  Bisected found_;
  const Control control_;
  std::vector<int32_t> local_, members_;
  std::vector<int64_t> bias_;
  std::vector<int64_t> sizes_, load_;  // of the pair: tasks to hold and tasks held
  TwoWayFm<int64_t> fm_;
  ExactPartitioner<int64_t> bisector_;
  Graph<int64_t> pair_;
};

struct RepartitionOptions {
  int64_t new_bisections = 1;  // new bisections per pair of units, in addition to the present one
  int64_t rounds = 3;  // passes over all pairs; later passes visit only pairs with a unit that changed
  int64_t budget = 0;  // edges to scan
};

template <class W, class D> class PairwiseRepartition {
 public:
  // Unit u consists of the PEs unit_start[u] .. unit_start[u + 1] - 1.
  PairwiseRepartition(const Graph<W>& graph, SwapSearch<W, D>& search, In<int64_t> unit_start,
                      const RepartitionOptions& options, const Control& control)
      : g_(graph),
        search_(search),
        start_(unit_start),
        options_(options),
        control_(control),
        bisections_(control.threads()),
        unit_of_(unit_start.back()),
        changed_in_(unit_start.size(), 0) {
    for (size_t u = 0; u + 1 < unit_start.size(); ++u)
      std::fill(unit_of_.begin() + unit_start[u], unit_of_.begin() + unit_start[u + 1],
                static_cast<int32_t>(u));
  }
  PairwiseRepartition(const PairwiseRepartition&) = delete;

  // Works on pairs of units (first, second, first, ...). Returns the change, and counts pairs that gained.
  int64_t run(In<int32_t> pairs, uint64_t seed, int64_t& gained) {
    std::vector<uint8_t> changed(start_.size(), 1), next;
    int64_t total = 0;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      next.assign(start_.size(), 0);
      pairs_.clear();
      for (size_t p = 0; p + 1 < pairs.size(); p += 2)
        if (changed[pairs[p]] || changed[pairs[p + 1]])
          pairs_.push_back(
              {pairs[p], pairs[p + 1],
               derive(seed, round * static_cast<int64_t>(pairs.size()) + static_cast<int64_t>(p))});
      for (size_t done = 0; done < pairs_.size(); done += batch_.size()) {
        bisect_batch(done);
        for (size_t i = 0; i < batch_.size(); ++i) {
          const Pair& pair = pairs_[done + i];
          if (work() >= options_.budget || control_.should_stop()) return total;
          const int64_t change = carry_out(pair, batch_[i]);
          if (change < 0) next[pair.first] = next[pair.second] = 1, ++gained;
          total += change;
        }
      }
      changed.swap(next);
      if (std::find(changed.begin(), changed.end(), 1) == changed.end()) break;
    }
    return total;
  }

  int64_t work() const { return own_work_ + search_.work(); }
  int64_t scanned_edges() const { return own_work_ + search_.state().counts().scanned; }

 private:
  struct Pair {
    int32_t first, second;
    uint64_t seed;
  };

  Bisected bisect(const Pair& pair, int32_t worker) {
    if (!bisections_[worker])
      bisections_[worker] =
          std::make_unique<PairBisection<W, D>>(search_.state(), start_, options_.new_bisections, control_);
    return bisections_[worker]->run(pair.first, pair.second, pair.seed);
  }

  // Bisects the pairs from `begin` on for the present mapping.
  void bisect_batch(size_t begin) {
    const size_t most = control_.threads() == 1 ? 1 : pairs_per_thread * control_.threads();
    batch_.resize(std::min(most, pairs_.size() - begin));
    ++round_;
    control_.team().run(std::ssize(batch_), [&](int32_t worker, int64_t i) {
      if (!control_.should_stop()) batch_[i] = bisect(pairs_[begin + i], worker);
    });
  }

  // Returns the change of the cost.
  int64_t carry_out(const Pair& pair, Bisected& found) {
    if (changed_in_[pair.first] == round_ || changed_in_[pair.second] == round_) found = bisect(pair, 0);
    own_work_ += found.work;
    control_.record_parallel_work(found.new_work, found.span);
    if (found.leave.empty()) return 0;
    const int64_t change = search_.attempt(found.leave, found.come);
    if (change < 0)
      for (const auto& [u, v] : search_.exchanged())
        for (const int32_t task : {u, v}) note_change(task);
    return change;
  }

  // Notes the units whose pairs see that a task has moved: its own and those of its neighbours. The unit it
  // came from is that of a task that was exchanged with it.
  void note_change(int32_t task) {
    const auto& costs = search_.state().costs();
    changed_in_[unit_of_[costs.pe(task)]] = round_;
    for (int64_t e = g_.start[task]; e < g_.start[task + 1]; ++e)
      changed_in_[unit_of_[costs.pe(g_.adj[e])]] = round_;
  }

  static constexpr size_t pairs_per_thread = 4;

  const Graph<W>& g_;
  SwapSearch<W, D>& search_;
  In<int64_t> start_;
  const RepartitionOptions options_;
  const Control& control_;
  std::vector<std::unique_ptr<PairBisection<W, D>>> bisections_;  // one for each thread
  std::vector<Pair> pairs_;  // of a round
  std::vector<Bisected> batch_;
  std::vector<int32_t> unit_of_;  // of each PE
  std::vector<int64_t> changed_in_;  // the batch in which pairs with a unit had to be bisected anew last
  int64_t round_ = 0;  // batches
  int64_t own_work_ = 0;
};

}  // namespace hopbytes
