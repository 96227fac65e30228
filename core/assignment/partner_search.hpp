// The partner with which an exchange of a task lowers the cost most.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "assignment/swap_state.hpp"

namespace hopbytes {

struct Partner {
  int64_t change = 0;
  int32_t task = -1;
};

// The cells that a search has looked at, each once.
class CellNotes {
 public:
  explicit CellNotes(int64_t cells) : noted_in_(cells, 0) {}
  void start() { cells_.clear(), ++turn_; }
  void add(int32_t cell) {
    if (noted_in_[cell] != turn_) noted_in_[cell] = turn_, cells_.push_back(cell);
  }
  std::span<const int32_t> cells() const { return cells_; }

 private:
  std::vector<int64_t> noted_in_;
  std::vector<int32_t> cells_;
  int64_t turn_ = 0;
};

// Candidates are the tasks in the cells around the neighbours of a task, or all tasks.
template <class W, class D> class PartnerSearch {
 public:
  explicit PartnerSearch(SwapState<W, D>& state)
      : state_(state), g_(state.graph()), costs_(state.costs()), seen_cell_(state.cells().count(), -1) {}

  // From now on notes the cell of every task and the cells looked at for it; null ends that.
  void note_cells(CellNotes* notes) { notes_ = notes; }

  // The result has no task (-1) if no exchange lowers the cost.
  Partner best(int32_t u, bool all_pairs) {
    Partner found;
    ++turn_;
    const int32_t here = costs_.pe(u);
    if (notes_) notes_->add(state_.cells().cell_of(here));
    auto visit = [&](int32_t pe) {
      const int32_t cell = state_.cells().cell_of(pe);
      if (seen_cell_[cell] == turn_) return;
      seen_cell_[cell] = turn_;
      if (notes_) notes_->add(cell);
      try_cell(u, pe, all_pairs, found);
    };
    if (all_pairs) {
      const int32_t k = static_cast<int32_t>(state_.cells().pes());
      for (int32_t p = 0; p < k; p = state_.cells().cell_range(p).last) visit(p);
      return found;
    }
    if (state_.largest_gain(u) > 0)
      for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e)
        state_.cells().around(here, costs_.pe(g_.adj[e]), visit);
    return found;
  }

 private:
  // Returns the cost of u in a cell if its neighbours there are as near as the cell permits.
  int64_t cost_in_cell(int32_t u, int32_t pe) {
    const auto at = place_of(costs_.distance(), pe);
    const int64_t least = std::max<int64_t>(0, costs_.indifferent());
    int64_t cost = 0;
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e)
      cost += g_.weight[e] * std::max(least, between(costs_.distance(), at, costs_.place(g_.adj[e])));
    state_.count_work(g_.degree(u));
    return cost;
  }

  // Returns the change if u exchanges its PE with v; `gain` is what u gains (linear assignment costs apart)
  // by moving to v's cell.
  int64_t evaluate(int32_t u, int32_t v, int64_t gain) {
    const auto p = costs_.place(u);
    int64_t change = costs_.assignment_cost(u, costs_.pe(v)) + costs_.assignment_cost(v, costs_.pe(u)) -
                     gain - costs_.share(v);
    int64_t shared = 0;
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t w = g_.adj[e];
      change += g_.weight[e] * between(costs_.distance(), p, costs_.place(w));
      shared += w == u ? g_.weight[e] : 0;
    }
    state_.count_evaluation(g_.degree(v));
    if (!shared) return change;
    const int64_t apart = between(costs_.distance(), p, costs_.place(v));
    return change + shared * (2 * apart - std::max<int64_t>(0, costs_.indifferent()));
  }

  void try_cell(int32_t u, int32_t pe, bool all_pairs, Partner& best) {
    const PeRange cell = state_.cells().cell_range(pe);
    const int64_t gain = costs_.share(u) - cost_in_cell(u, cell.first);
    const int64_t least = state_.least_assignment_cost(u) - gain;
    for (const int32_t v : state_.slots().tasks(cell)) {
      if (least - state_.largest_gain(v) >= best.change) continue;
      if ((!all_pairs && state_.hub(v) && !state_.hub(u)) || !costs_.allowed(u, v)) continue;
      const int64_t change = evaluate(u, v, gain);
      if (change < best.change) best = {change, v};
    }
  }

  SwapState<W, D>& state_;
  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  std::vector<int64_t> seen_cell_;
  int64_t turn_ = 0;
  CellNotes* notes_ = nullptr;
};

}  // namespace hopbytes
