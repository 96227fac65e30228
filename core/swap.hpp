// Exchanges of two tasks: what one-task-per-slot placements can still do.
#pragma once
#include <deque>

#include "local_search.hpp"

namespace hopbytes {

struct SwapOptions {
  int64_t all_pairs_up_to = 1024;  // with at most so many tasks every pair is a candidate
  int64_t hub_degree = 512;        // tasks with more neighbours are partners only of each other
  int32_t nearest = 16;            // else: tasks on this many PEs before and after a neighbour's PE,
  int32_t most = 256;              // at most so many per task
  int64_t least_work = int64_t{1} << 32;  // arcs to look at before giving up, at least,
  int64_t work_per_arc = 4096;            // and per arc and task of the graph
};

// Change of the cost (every edge once) if u and v exchange their PEs; the edge between them keeps its
// distance. O(deg u + deg v).
template <class W, class D>
int64_t swap_delta(const WorkGraph<W>& g, const int32_t* pe, const D& distance, int32_t u, int32_t v) {
  const int32_t p = pe[u], q = pe[v];
  int64_t delta = 0;
  if (g.unary) delta += (*g.unary)(u, q) - (*g.unary)(u, p) + (*g.unary)(v, p) - (*g.unary)(v, q);
  for (int64_t e = g.start[u]; e < g.start[u + 1]; ++e)
    if (const int32_t w = g.adj[e]; w != v) delta += g.weight[e] * (distance(q, pe[w]) - distance(p, pe[w]));
  for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
    if (const int32_t w = g.adj[e]; w != u) delta += g.weight[e] * (distance(p, pe[w]) - distance(q, pe[w]));
  return delta;
}

// Best-improvement pairwise exchange with a queue of tasks worth looking at. Exchanges keep every
// PE's count, and its cap where loads differ. Returns the total change (<= 0); evaluations are counted.
template <class W, class D>
int64_t swap_refine(const WorkGraph<W>& g, const D& distance, std::span<const int64_t> cap, uint64_t seed,
                    const SwapOptions& options, const Control& control, std::span<int32_t> pe, int64_t& evaluations) {
  const int64_t k = static_cast<int64_t>(cap.size());
  std::vector<std::vector<int32_t>> tasks(k);
  std::vector<int64_t> load(k, 0);
  for (int32_t v = 0; v < g.n; ++v) tasks[pe[v]].push_back(v), load[pe[v]] += g.load[v];
  std::vector<int32_t> order(g.n);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed);
  rng.shuffle(order);
  std::deque<int32_t> queue(order.begin(), order.end());
  std::vector<uint8_t> queued(g.n, 1);
  std::vector<int64_t> seen(g.n, -1);
  int64_t total = 0, turn = 0;
  // Arcs to look at: enough to finish on any sparse pattern, and seconds where a thousand tasks all talk
  // to each other in different amounts, which offers gains for many minutes.
  int64_t work_left = std::max(options.least_work, options.work_per_arc * (g.arcs() + g.n));
  const int64_t budget = work_left;
  const bool all_pairs = g.n <= options.all_pairs_up_to;
  // An exchange with a hub costs its whole degree to judge. Every task near would ask for one, so only
  // the hub itself asks, and not again whenever one of its thousands of neighbours has moved.
  auto hub = [&](int32_t v) { return g.degree(v) > options.hub_degree; };
  auto enqueue = [&](int32_t v) {
    if (!queued[v] && (all_pairs || !hub(v))) queued[v] = 1, queue.push_back(v);
  };
  while (!queue.empty() && work_left > 0 && !control.hurry()) {
    const int32_t u = queue.front();
    queue.pop_front();
    queued[u] = 0;
    ++turn;
    int64_t best = 0;
    int32_t partner = -1, offered = 0;
    auto consider = [&](int32_t v) {
      if (pe[v] == pe[u] || seen[v] == turn || (!all_pairs && hub(v) && !hub(u))) return;
      seen[v] = turn;
      if (g.unary && !(g.unary->allows(u, pe[v]) && g.unary->allows(v, pe[u]))) return;
      const int64_t shift = g.load[v] - g.load[u];
      if (shift > 0 ? load[pe[u]] + shift > cap[pe[u]] : shift < 0 && load[pe[v]] - shift > cap[pe[v]]) return;
      ++evaluations;
      work_left -= g.degree(u) + g.degree(v);
      const int64_t delta = swap_delta(g, pe.data(), distance, u, v);
      if (delta < best) best = delta, partner = v;
    };
    if (all_pairs) {
      for (int32_t v = 0; v < g.n; ++v) consider(v);
    } else {
      for (int64_t e = g.start[u]; e < g.start[u + 1]; ++e) {
        const int32_t home = pe[g.adj[e]];
        const int64_t last = std::min<int64_t>(k - 1, home + options.nearest);
        for (int64_t p = std::max<int64_t>(0, home - options.nearest); p <= last && offered < options.most; ++p)
          for (int32_t v : tasks[p]) {
            if (++offered > options.most) break;
            consider(v);
          }
      }
    }
    if (partner < 0) continue;
    const int32_t p = pe[u], q = pe[partner];
    *std::find(tasks[p].begin(), tasks[p].end(), u) = partner;
    *std::find(tasks[q].begin(), tasks[q].end(), partner) = u;
    load[p] += g.load[partner] - g.load[u];
    load[q] += g.load[u] - g.load[partner];
    pe[u] = q, pe[partner] = p;
    total += best;
    for (const int32_t moved : {u, partner}) {
      enqueue(moved);
      for (int64_t e = g.start[moved]; e < g.start[moved + 1]; ++e) enqueue(g.adj[e]);
    }
  }
  control.spend(budget - work_left);
  return total;
}

}  // namespace hopbytes
