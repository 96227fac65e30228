// The partner with which an exchange of a task lowers the cost most.
#pragma once
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
  In<int32_t> cells() const { return cells_; }

 private:
  std::vector<int64_t> noted_in_;
  std::vector<int32_t> cells_;
  int64_t turn_ = 0;
};

// Candidates are the tasks in the cells around the neighbours of a task, or all tasks.
template <class W, class D> class PartnerSearch {
 public:
  explicit PartnerSearch(SwapState<W, D>& state)
      : state_(state),
        g_(state.graph()),
        costs_(state.costs()),
        seen_cell_(state.cells().count(), -1),
        weight_to_(g_.n, 0) {}

  // From now on notes the cell of every task and the cells looked at for it; null ends that.
  void note_cells(CellNotes* notes) { notes_ = notes; }

  // The result has no task (-1) if no exchange lowers the cost.
  Partner best(int32_t u, bool all_pairs) {
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) weight_to_[g_.adj[e]] = g_.weight[e];
    const Partner found = best_of(u, all_pairs);
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) weight_to_[g_.adj[e]] = 0;
    return found;
  }

 private:
  Partner best_of(int32_t u, bool all_pairs) {
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

  // Returns the cost of u in a cell if its neighbours there are as near as the cell permits.
  int64_t cost_in_cell(int32_t u, int32_t pe) {
    int64_t cost = 0, scanned = 0;
    if (state_.unit_weights().has_row(u)) {
      cost = state_.unit_weights().cost_at(u, pe, INT64_MAX, scanned);
    } else {
      const auto at = place_of(costs_.distance(), pe);
      for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e)
        cost += g_.weight[e] *
                std::max(state_.least_distance(), between(costs_.distance(), at, costs_.place(g_.adj[e])));
      scanned = g_.degree(u);
    }
    state_.count_work(g_.degree(u), scanned);
    return cost;
  }

  // Returns the cost of v on the PE of u if u stayed, or a lower bound of it that is not below `limit`.
  int64_t cost_at(int32_t v, int32_t u, int64_t limit) {
    constexpr int64_t step = 16;  // edges between two comparisons with the limit
    const auto at = costs_.place(u);
    int64_t cost = 0, scanned = 0;
    if (state_.unit_weights().has_row(v)) {
      // A row counts u like all tasks of its cell.
      cost = state_.unit_weights().cost_at(v, costs_.pe(u), limit + weight_to_[v] * state_.least_distance(),
                                           scanned) -
             weight_to_[v] * state_.least_distance();
    } else {
      const int64_t first = g_.start[v], last = g_.start[v + 1];
      int64_t e = first;
      while (e < last && cost < limit)
        for (const int64_t end = std::min(last, e + step); e < end; ++e)
          cost += g_.weight[e] * between(costs_.distance(), at, costs_.place(g_.adj[e]));
      scanned = e - first;
    }
    state_.count_evaluation(g_.degree(v), scanned);
    return cost;
  }

  // Returns the change if u exchanges its PE with v, or a lower bound of it that is not below `most`; `gain`
  // is what u gains (linear assignment costs apart) by moving to v's cell.
  int64_t evaluate(int32_t u, int32_t v, int64_t gain, int64_t most) {
    const int64_t change = costs_.assignment_cost(u, costs_.pe(v)) + costs_.assignment_cost(v, costs_.pe(u)) -
                           gain - costs_.share(v);
    const int64_t shared = weight_to_[v];
    const int64_t apart = shared ? 2 * between(costs_.distance(), costs_.place(u), costs_.place(v)) : 0;
    const int64_t kept = shared * (apart - state_.least_distance());
    return change + kept + cost_at(v, u, most - change - kept);
  }

  void try_cell(int32_t u, int32_t pe, bool all_pairs, Partner& best) {
    const PeRange cell = state_.cells().cell_range(pe);
    const int64_t gain = costs_.share(u) - cost_in_cell(u, cell.first);
    const int64_t least = state_.least_assignment_cost(u) - gain;
    for (const int32_t v : state_.slots().tasks(cell)) {
      if (least - state_.largest_gain(v) >= best.change) continue;
      if ((!all_pairs && state_.hub(v) && !state_.hub(u)) || !costs_.allowed(u, v)) continue;
      const int64_t change = evaluate(u, v, gain, best.change);
      if (change < best.change) best = {change, v};
    }
  }

  SwapState<W, D>& state_;
  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  std::vector<int64_t> seen_cell_;
  std::vector<int64_t> weight_to_;  // from the task whose partner is searched to each of its neighbours
  int64_t turn_ = 0;
  CellNotes* notes_ = nullptr;
};

}  // namespace hopbytes
