// Two units of the machine are emptied and their tasks cut anew, into as many as each held, exactly.
//
// Where both units hold what they hold, a task pays for neighbours elsewhere by the unit it is in, and for
// neighbours among the tasks by whether both are in the same: a bisection with a price per task. It is
// searched from the split there is and from new exact ones (exact.hpp) by passes of Fiduccia and Mattheyses. A
// cheaper split is carried out by exchanges, the surroundings descend, and all of it is taken back
// unless the true cost fell.
#pragma once
#include "exact.hpp"
#include "swap.hpp"

namespace hopbytes {

struct ResplitOptions {
  int64_t tries = 1;   // new bisections per pair of units, beside the one there is
  int64_t rounds = 3;  // passes over all pairs; from the second on only those with a unit that changed
  int64_t budget = 0;  // arcs to look at
};

template <class W, class D> class Resplit {
 public:
  // Unit u is the PEs unit_start[u] .. unit_start[u + 1] - 1.
  Resplit(const WorkGraph<W>& graph, SwapSearch<W, D>& search, std::span<const int64_t> unit_start,
          const ResplitOptions& options, const Control& control)
      : g_(graph), search_(search), start_(unit_start), options_(options), control_(control),
        local_(graph.n, -1), sizes_(2, 0), load_(2, 0), seam_(sizes_, load_), cut_(sizes_, ExactOptions{}, control) {}
  Resplit(const Resplit&) = delete;

  // Work on pairs of units (first, second, first, ...). Returns the change of the cost; counts what gained.
  int64_t run(In<int32_t> pairs, uint64_t seed, int64_t& gained) {
    std::vector<uint8_t> changed(start_.size(), 1), next;
    int64_t total = 0;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      next.assign(start_.size(), 0);
      for (size_t p = 0; p + 1 < pairs.size(); p += 2) {
        if (!changed[pairs[p]] && !changed[pairs[p + 1]]) continue;
        if (work() >= options_.budget || control_.hurry()) return total;
        const int64_t change = split(pairs[p], pairs[p + 1], derive(seed, round * static_cast<int64_t>(pairs.size()) + p));
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

  int64_t split(int32_t first, int32_t second, uint64_t seed) {
    const PeRange one = range(first), other = range(second);
    const int64_t apart = search_.distance(one.first, other.first);
    const int64_t inside = std::max(search_.distance(one.first, one.last - 1), search_.distance(other.first, other.last - 1));
    if (apart <= inside) return 0;
    members_.clear();
    // Tasks that must not be in one of the two stay, and count as neighbours elsewhere.
    for (const int side : {0, 1}) {
      const int64_t before = static_cast<int64_t>(members_.size());
      for (const int32_t v : search_.tasks(side == 0 ? one : other))
        if (std::max(search_.price(v, one.first), search_.price(v, other.first)) < Unary::kForbidden) members_.push_back(v);
      sizes_[side] = static_cast<int64_t>(members_.size()) - before;
    }
    if (sizes_[0] == 0 || sizes_[1] == 0) return 0;
    describe(one.first, other.first, apart - inside);
    std::vector<int32_t> now(members_.size(), 0), best;
    std::fill(now.begin() + sizes_[0], now.end(), 1);
    const int64_t before = energy(now);
    best = now;
    int64_t least = improved(best);
    for (int64_t t = 0; t < options_.tries && !control_.hurry(); ++t) {
      std::vector<int32_t> part;
      cut_.partition(pair_, part, derive(seed, t));
      if (sizes_[0] == sizes_[1]) turn(part);
      if (const int64_t found = improved(part); found < least) least = found, best.swap(part);
    }
    if (least >= before) return 0;
    std::vector<int32_t> leave, come;
    for (size_t m = 0; m < members_.size(); ++m)
      if (best[m] != now[m]) (now[m] == 0 ? leave : come).push_back(members_[m]);
    return search_.attempt(leave, come);
  }

  // The graph among the members, weights times what parting costs, and `bias_`: what a member pays more for
  // the neighbours it has elsewhere when it is in the second unit.
  void describe(int32_t first, int32_t second, int64_t parting) {
    int64_t bound = 0;
    for (size_t m = 0; m < members_.size(); ++m) local_[members_[m]] = static_cast<int32_t>(m), bound += g_.degree(members_[m]);
    pair_ = WorkGraph<int64_t>();
    pair_.allocate(static_cast<int64_t>(members_.size()), bound);
    bias_.assign(members_.size(), 0);
    int64_t filled = 0;
    for (size_t m = 0; m < members_.size(); ++m) {
      const int32_t v = members_[m];
      pair_.own_start[m] = filled;
      pair_.own_load[m] = 1;
      bias_[m] = search_.price(v, second) - search_.price(v, first);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t w = g_.adj[e];
        if (local_[w] < 0) {
          bias_[m] += g_.weight[e] * (search_.distance(second, search_.pe(w)) - search_.distance(first, search_.pe(w)));
          continue;
        }
        pair_.own_adj[filled] = local_[w];
        pair_.own_weight[filled++] = g_.weight[e] * parting;
      }
    }
    pair_.own_start[pair_.n] = filled;
    pair_.sum_loads();
    for (const int32_t v : members_) local_[v] = -1;
    own_work_ += bound;
  }

  int64_t energy(const std::vector<int32_t>& part) const {
    int64_t total = edge_cut(pair_, part.data());
    for (size_t m = 0; m < part.size(); ++m) total += part[m] ? bias_[m] : 0;
    return total;
  }

  // Halves have no order of their own: take the cheaper one.
  void turn(std::vector<int32_t>& part) const {
    int64_t lean = 0;
    for (size_t m = 0; m < part.size(); ++m) lean += part[m] ? bias_[m] : -bias_[m];
    if (lean > 0)
      for (int32_t& p : part) p = 1 - p;
  }

  // Passes from `part`, which keeps the sizes. Returns the energy it then has.
  int64_t improved(std::vector<int32_t>& part) {
    load_ = sizes_;
    seam_.adopt(pair_, part.data(), bias_.data());
    all_.resize(members_.size());
    std::iota(all_.begin(), all_.end(), 0);
    int64_t gain = 0;
    for (int pass = 0; pass < 8; ++pass) {
      const bool better = seam_.improve(0, 1, all_, typename SeamSearch<int64_t>::Limits{}, gain);
      own_work_ += seam_.looked_at();
      if (!better) break;
    }
    return energy(part);
  }

  const WorkGraph<W>& g_;
  SwapSearch<W, D>& search_;
  std::span<const int64_t> start_;
  const ResplitOptions options_;
  const Control& control_;
  std::vector<int32_t> local_, members_, all_;
  std::vector<int64_t> bias_;
  std::vector<int64_t> sizes_, load_;  // of the pair: tasks to hold and tasks held
  SeamSearch<int64_t> seam_;
  ExactPartition<int64_t> cut_;
  WorkGraph<int64_t> pair_;
  int64_t own_work_ = 0;
};

}  // namespace hopbytes
