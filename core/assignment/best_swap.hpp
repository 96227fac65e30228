// The local search of MPIPP (Chen et al., ICS 2006): of all exchanges of two tasks it makes the one with the
// largest gain, until no exchange gains. Ties go to the smaller pair.
#pragma once
#include "util/control.hpp"
#include "graph/csr.hpp"

namespace hopbytes {

class BestSwap {
 public:
  // `table` holds symmetric distances of k PEs. Unsigned, because sums of weight x distance may wrap around.
  BestSwap(const Csr& graph, In<int64_t> table, int64_t k, Out<int32_t> pe, const Control& control)
      : g_(graph),
        control_(control),
        n_(graph.n()),
        k_(k),
        table_(table),
        pe_(pe),
        reach_(n_ * k, 0),
        partner_(n_, -1),
        gain_(n_, 0),
        changed_(n_, 0) {
    for (int64_t u = 0; u < n_ && !control_.should_stop(); ++u)
      for (int64_t e = g_.indptr[u]; e < g_.indptr[u + 1]; ++e) shift(u, g_.w(e), pe_[g_.target[e]], 1);
    for (int64_t u = 0; u < n_ && !control_.should_stop(); ++u) look(u);
  }

  // Returns the number of exchanges made, at most `most`. A request to stop ends it between two exchanges.
  int64_t run(int64_t most) {
    int64_t made = 0;
    for (; made < most && !control_.should_stop(); ++made) {
      int64_t best = -1;
      for (int64_t u = 0; u < n_; ++u)
        if (partner_[u] >= 0 && (best < 0 || gain_[u] > gain_[best])) best = u;
      if (best < 0) break;
      exchange(best, partner_[best]);
    }
    return made;
  }

 private:
  // Adds to every possible cost of task u what a neighbour of weight w on PE p contributes.
  void shift(int64_t u, int64_t w, int64_t p, int64_t sign) {
    const uint64_t factor = static_cast<uint64_t>(w) * static_cast<uint64_t>(sign);
    for (int64_t q = 0; q < k_; ++q) reach_[u * k_ + q] += factor * static_cast<uint64_t>(table_[p * k_ + q]);
  }
  int64_t gain(int64_t u, int64_t v, int64_t between) const {
    const int64_t p = pe_[u], q = pe_[v];
    const uint64_t now = reach_[u * k_ + p] + reach_[v * k_ + q],
                   then = reach_[u * k_ + q] + reach_[v * k_ + p];
    // Both sums include the edge between u and v: `now` at its distance, `then` at none; the exchange keeps
    // it.
    return static_cast<int64_t>(
        now - then - 2 * static_cast<uint64_t>(between) * static_cast<uint64_t>(table_[p * k_ + q]));
  }
  // Finds the best exchange of u with a task of a larger number.
  void look(int64_t u) {
    partner_[u] = -1;
    gain_[u] = 0;
    int64_t e = g_.indptr[u];
    for (int64_t v = u + 1; v < n_; ++v) {
      while (e < g_.indptr[u + 1] && g_.target[e] < v) ++e;
      consider(u, v, e < g_.indptr[u + 1] && g_.target[e] == v ? g_.w(e) : 0);
    }
  }
  void consider(int64_t u, int64_t v, int64_t between) {
    if (pe_[u] == pe_[v]) return;
    const int64_t found = gain(u, v, between);
    if (found > gain_[u] || (found > 0 && found == gain_[u] && v < partner_[u]))
      gain_[u] = found, partner_[u] = v;
  }
  int64_t between(int64_t u, int64_t v) const {
    const auto first = g_.target.begin() + g_.indptr[u], last = g_.target.begin() + g_.indptr[u + 1];
    const auto at = std::lower_bound(first, last, static_cast<int32_t>(v));
    return at != last && *at == v ? g_.w(at - g_.target.begin()) : 0;
  }

  void exchange(int64_t a, int64_t b) {
    const int32_t p = pe_[a], q = pe_[b];
    std::vector<int64_t> moved{a, b};
    for (int64_t task : {a, b})
      for (int64_t e = g_.indptr[task]; e < g_.indptr[task + 1]; ++e) {
        const int64_t u = g_.target[e];
        shift(u, g_.w(e), task == a ? p : q, -1);
        shift(u, g_.w(e), task == a ? q : p, 1);
        moved.push_back(u);
      }
    pe_[a] = q;
    pe_[b] = p;
    for (int64_t u : moved) changed_[u] = 1;
    std::sort(moved.begin(), moved.end());
    moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
    // Only exchanges with one of the moved tasks have changed their gain.
    for (int64_t u = 0; u < n_ && !control_.should_stop(); ++u) {
      if (changed_[u] || (partner_[u] >= 0 && changed_[partner_[u]])) look(u);
      else
        for (auto v = std::upper_bound(moved.begin(), moved.end(), u); v != moved.end(); ++v)
          consider(u, *v, between(u, *v));
    }
    for (int64_t u : moved) changed_[u] = 0;
  }

  const Csr g_;
  const Control control_;
  int64_t n_, k_;
  In<int64_t> table_;
  Out<int32_t> pe_;
  std::vector<uint64_t> reach_;
  std::vector<int64_t> partner_, gain_;
  std::vector<char> changed_;
};

}  // namespace hopbytes
