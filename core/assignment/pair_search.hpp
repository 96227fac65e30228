// Local search by exchanges over fixed sets of pairs: all pairs, pairs inside blocks of indices, pairs that
// are close in the communication graph, and listed ones (Heider 1972; Brandfass et al. 2013; Schulz and Träff
// 2017).
#pragma once
#include <deque>

#include "assignment/exchange.hpp"
#include "util/control.hpp"

namespace hopbytes {

// Makes an exchange that is permitted and lowers the cost; returns whether it did.
template <class W, class D>
bool exchange_if_better(Exchange<W, D>& exchange, int32_t u, int32_t v, SearchCounts& counts) {
  if (!exchange.allowed(u, v)) return false;
  ++counts.evaluations;
  counts.scanned += exchange.graph().degree(u) + exchange.graph().degree(v);
  if (exchange.delta(u, v) >= 0) return false;
  exchange.apply(u, v);
  ++counts.swaps;
  return true;
}

// Cyclic search over the pairs of the tasks first .. last-1, (i,j) -> (i,j+1) -> (i+1,i+2), until as many in
// turn as there are have failed. Returns whether it made an exchange.
template <class W, class D>
bool search_cyclic(Exchange<W, D>& exchange, int64_t first, int64_t last, const Control& control,
                   SearchCounts& counts) {
  const int64_t pairs = (last - first) * (last - first - 1) / 2;
  bool any = false;
  int64_t i = first, j = first + 1;
  for (int64_t failed = 0; failed < pairs; ++failed) {
    if ((failed & 1023) == 0 && control.should_stop()) break;
    if (exchange_if_better(exchange, static_cast<int32_t>(i), static_cast<int32_t>(j), counts))
      any = true, failed = -1;
    if (++j == last) {
      if (++i == last - 1) i = first;
      j = i + 1;
    }
  }
  return any;
}

// Cyclic search over listed pairs (u0, v0, u1, v1, ...), until as many consecutive ones as there are failed.
template <class W, class D>
void search_listed_pairs(Exchange<W, D>& exchange, In<int32_t> pairs, const Control& control,
                         SearchCounts& counts) {
  const int64_t size = static_cast<int64_t>(pairs.size()) / 2;
  for (int64_t failed = 0, at = 0; failed < size; ++failed, at = at + 1 == size ? 0 : at + 1) {
    if ((failed & 1023) == 0 && control.should_stop()) break;
    if (exchange_if_better(exchange, pairs[2 * at], pairs[2 * at + 1], counts)) failed = -1;
  }
}

// Searches block after block of `size` consecutive tasks, until a whole round over all blocks finds nothing.
template <class W, class D>
void search_blocks(Exchange<W, D>& exchange, int64_t size, const Control& control, SearchCounts& counts) {
  const int64_t n = exchange.graph().n;
  for (bool any = true; any && !control.should_stop();) {
    any = false;
    for (int64_t first = 0; first < n && !control.should_stop(); first += size)
      any = search_cyclic(exchange, first, std::min(n, first + size), control, counts) || any;
  }
}

// Searches pairs at most `reach` edges apart. The tasks wait in a queue, at first in the given order. The
// neighbourhood of the present task is traversed breadth-first and never stored. A pair that failed is
// skipped until an exchange changes the cost of one of its tasks.
template <class W, class D>
void search_near_pairs(Exchange<W, D>& exchange, int64_t reach, In<int32_t> order, const Control& control,
                       SearchCounts& counts) {
  const Graph<W>& g = exchange.graph();
  std::vector<int64_t> scanned(g.n, -1), changed(g.n, 0), seen(g.n, -1);
  std::deque<int32_t> queue(order.begin(), order.end());
  std::vector<int32_t> walk;
  std::vector<uint8_t> waiting(g.n, 1);
  int64_t clock = 0, turn = 0;
  auto touch = [&](int32_t v) {
    changed[v] = clock;
    if (!waiting[v]) waiting[v] = 1, queue.push_back(v);
  };
  auto touch_around = [&](int32_t v) {
    touch(v);
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) touch(g.adj[e]);
  };
  auto consider = [&](int32_t u, int32_t v) {
    if (scanned[v] > std::max(changed[u], changed[v]) || !exchange_if_better(exchange, u, v, counts)) return;
    ++clock;
    touch_around(u);
    touch_around(v);
  };
  while (!queue.empty() && !control.should_stop()) {
    const int32_t u = queue.front();
    queue.pop_front();
    waiting[u] = 0;
    scanned[u] = ++clock;
    seen[u] = ++turn;
    walk.assign(1, u);
    size_t from = 0;
    for (int64_t depth = 0; depth < reach && from < walk.size(); ++depth) {
      const size_t layer = walk.size();
      for (; from < layer; ++from)
        for (int64_t e = g.start[walk[from]]; e < g.start[walk[from] + 1]; ++e) {
          const int32_t v = g.adj[e];
          if (seen[v] == turn) continue;
          seen[v] = turn;
          walk.push_back(v);
          consider(u, v);
        }
    }
  }
}

}  // namespace hopbytes
