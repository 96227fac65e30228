// Chains of exchanges that may pass through losses (Kernighan, Lin 1970; Lin, Kernighan 1973), each started
// from one task.
//
// A chain begins with the candidate exchanges of one task. The search makes the cheapest candidate exchange,
// whether it gains or loses, locks both tasks and adds their neighbours to the candidates. After
// `fruitless_exchanges` exchanges without a new best the chain ends, and the search returns to the best state
// of the chain. The candidate partners of a task are the tasks in the innermost units of its neighbours.
#pragma once
#include <compare>
#include <queue>

#include "assignment/cells.hpp"
#include "assignment/pair_search.hpp"

namespace hopbytes {

template <class W, class D> class ChainSearch {
 public:
  // Scans about `budget` edges and stops then.
  ChainSearch(Exchange<W, D>& exchange, In<int32_t> pe, int64_t k, int64_t fruitless_exchanges,
              int64_t budget, const Control& control, SearchCounts& counts)
      : exchange_(exchange),
        g_(exchange.graph()),
        fruitless_exchanges_(fruitless_exchanges),
        budget_(budget),
        control_(control),
        counts_(counts),
        slots_(pe, k),
        cells_(exchange.distance(), k, exchange.farthest_alike(), 1, control),
        locked_(g_.n, 0),
        offer_(g_.n),
        seen_cell_(cells_.count(), 0) {}

  // Starts a chain from every task in the given order, and again from the tasks around a chain that gained.
  void run(In<int32_t> order) {
    std::vector<int32_t> queue(order.begin(), order.end());
    std::vector<uint8_t> waiting(g_.n, 1);
    for (size_t head = 0; head < queue.size() && may_continue(); ++head) {
      waiting[queue[head]] = 0;
      if (!chain(queue[head])) continue;
      auto enqueue = [&](int32_t v) {
        if (!waiting[v]) waiting[v] = 1, queue.push_back(v);
      };
      for (const auto& [u, v] : made_)
        for (const int32_t moved : {u, v}) {
          enqueue(moved);
          for (int64_t e = g_.start[moved]; e < g_.start[moved + 1]; ++e) enqueue(g_.adj[e]);
        }
    }
  }

 private:
  struct Offer {
    int64_t change = 0;
    int32_t task = -1, partner = -1;
    auto operator<=>(const Offer&) const = default;
  };

  bool may_continue() const { return counts_.scanned < budget_ && !control_.should_stop(); }

  // Returns whether the chain that starts at `seed` gained; `made_` then holds its exchanges.
  bool chain(int32_t seed) {
    ++chain_number_;
    heap_ = {};
    made_.clear();
    offer(seed);
    int64_t total = 0, best = 0, fruitless = 0;
    size_t kept = 0;
    while (!heap_.empty() && may_continue()) {
      const Offer next = heap_.top();
      heap_.pop();
      if (locked_[next.task] == chain_number_ || !(offer_[next.task] == next)) continue;
      if (!is_valid(next)) {
        offer(next.task);
        continue;
      }
      exchange(next.task, next.partner);
      made_.emplace_back(next.task, next.partner);
      locked_[next.task] = locked_[next.partner] = chain_number_;
      total += next.change;
      if (total < best) best = total, kept = made_.size(), fruitless = 0;
      else if (++fruitless > fruitless_exchanges_) break;
      for (const int32_t moved : {next.task, next.partner})
        for (int64_t e = g_.start[moved]; e < g_.start[moved + 1]; ++e) offer(g_.adj[e]);
    }
    for (; made_.size() > kept; made_.pop_back()) exchange(made_.back().first, made_.back().second);
    counts_.swaps += static_cast<int64_t>(kept);
    return kept > 0;
  }

  // Returns whether an offer computed earlier is still valid.
  bool is_valid(const Offer& next) {
    if (locked_[next.partner] == chain_number_ || !exchange_.allowed(next.task, next.partner)) return false;
    return evaluate(next.task, next.partner) == next.change;
  }

  int64_t evaluate(int32_t u, int32_t v) {
    ++counts_.evaluations;
    counts_.scanned += g_.degree(u) + g_.degree(v);
    return exchange_.delta(u, v);
  }

  void exchange(int32_t u, int32_t v) {
    exchange_.apply(u, v);
    slots_.swap(u, v);
    counts_.scanned += g_.degree(u) + g_.degree(v);
  }

  // Queues the cheapest exchange of u, of equally cheap ones that with the smallest partner.
  void offer(int32_t u) {
    if (locked_[u] == chain_number_ || counts_.scanned >= budget_) return;
    Offer best{0, u, -1};
    ++scan_number_;
    for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) {
      const int32_t there = exchange_.pe(g_.adj[e]);
      int64_t& seen = seen_cell_[cells_.cell_of(there)];
      if (seen == scan_number_) continue;
      seen = scan_number_;
      for (const int32_t v : slots_.tasks(cells_.cell_range(there))) {
        if (locked_[v] == chain_number_ || !exchange_.allowed(u, v)) continue;
        const int64_t change = evaluate(u, v);
        if (best.partner < 0 || change < best.change || (change == best.change && v < best.partner))
          best.change = change, best.partner = v;
      }
    }
    offer_[u] = best;
    if (best.partner >= 0) heap_.push(best);
  }

  Exchange<W, D>& exchange_;
  const Graph<W>& g_;
  int64_t fruitless_exchanges_, budget_;
  const Control& control_;
  SearchCounts& counts_;
  Slots slots_;
  CellsOf<D> cells_;
  std::vector<int64_t> locked_;  // number of the chain in which a task moved
  std::vector<Offer> offer_;
  std::vector<int64_t> seen_cell_;
  std::priority_queue<Offer, std::vector<Offer>, std::greater<Offer>> heap_;
  std::vector<std::pair<int32_t, int32_t>> made_;
  int64_t chain_number_ = 0, scan_number_ = 0;
};

}  // namespace hopbytes
