// Flows along stored routes: their contributions to links and the metrics that result. Used by searches whose
// routes are distributed over several processes; searches that have all routes use RoutedGroups.
#pragma once
#include "routing/routed_groups.hpp"

namespace hopbytes {

// Row r uses link[start[r] .. start[r + 1]) with the share part / parts, all of a flow if both are empty.
struct StoredRoutes {
  In<int64_t> start, link, part, parts;

  int64_t share(int64_t step, int64_t volume, int32_t shift) const {
    return part.empty() ? share_of(volume, 1, 1, shift) : share_of(volume, part[step], parts[step], shift);
  }
};

// Changes of link loads: batch i changes link[e] by amount[e] for start[i] <= e < start[i + 1].
struct LinkChanges {
  In<int64_t> start, link, amount;
  int64_t batches() const { return static_cast<int64_t>(start.size()) - 1; }
};

// Sums the contributions of the flows of every batch to links; the links of a batch are in the order of their
// first use. A negative volume removes a flow. `link` and `amount` have room for every step of every flow.
// Returns the number of entries.
inline int64_t sum_over_routes(const StoredRoutes& routes, int32_t shift, int64_t links,
                               In<int64_t> flow_start, In<int64_t> row, In<int64_t> volume,
                               Out<int64_t> start, Out<int64_t> link, Out<int64_t> amount) {
  expect_offsets(flow_start, row.size(), "flows");
  expect_below(row, std::ssize(routes.start) - 1, "routes");
  int64_t steps = 0;
  for (const int64_t r : row) {  // of the routes that are used
    const int64_t first = routes.start[r], length = routes.start[r + 1] - first;
    expect(first >= 0 && length >= 0 && first + length <= std::ssize(routes.link), "routes");
    expect_below(routes.link.subspan(first, length), links, "links");
    steps += length;
  }
  expect(routes.part.size() == routes.parts.size() &&
             (routes.part.empty() || routes.part.size() == routes.link.size()) &&
             volume.size() == row.size() && start.size() == flow_start.size() && std::ssize(link) >= steps &&
             amount.size() == link.size(),
         "flows");
  std::vector<int64_t> entry_of(links, -1);
  int64_t entries = start[0] = 0;
  for (size_t batch = 0; batch + 1 < flow_start.size(); ++batch) {
    const int64_t first = entries;
    for (int64_t f = flow_start[batch]; f < flow_start[batch + 1]; ++f) {
      const int64_t sign = volume[f] < 0 ? -1 : 1;
      for (int64_t e = routes.start[row[f]]; e < routes.start[row[f] + 1]; ++e) {
        const int64_t l = routes.link[e];
        if (entry_of[l] < first) entry_of[l] = entries, link[entries] = l, amount[entries++] = 0;
        amount[entry_of[l]] += sign * routes.share(e, sign * volume[f], shift);
      }
    }
    start[batch + 1] = entries;
  }
  return entries;
}

inline void expect_changes(const LinkChanges& changes, In<int64_t> load, In<int64_t> price, size_t results) {
  expect_offsets(changes.start, changes.link.size(), "changes of links");
  expect(changes.amount.size() == changes.link.size() && results + 1 == changes.start.size(),
         "changes of links");
  expect_below(changes.link, std::ssize(load), "links");
  expect(price.empty() || price.size() == load.size(), "prices of links");
}

// Computes the hybrid metric after each batch of additions to `load`, each batch on its own.
inline void hybrid_after_each(const LinkChanges& added, In<int64_t> load, In<int64_t> price, In<double> terms,
                              Out<double> value) {
  expect_changes(added, load, price, value.size());
  const Hybrid hybrid = hybrid_of(terms);
  const LoadSummary now = summarize(load, price);
  for (int64_t batch = 0; batch < added.batches(); ++batch) {
    int64_t top = now.most;
    LinkSums sums = now.sums;
    for (int64_t e = added.start[batch]; e < added.start[batch + 1]; ++e) {
      const int64_t worth = price.empty() ? 1 : price[added.link[e]];
      const int64_t before = load[added.link[e]] * worth, after = before + added.amount[e] * worth;
      sums.add({added.amount[e], before, after});
      top = std::max(top, after);
    }
    value[batch] = hybrid.value(sums, top);
  }
}

// Computes the highest congestion after each batch of changes, each on its own, and how many links have it.
inline void peak_after_each(const LinkChanges& changes, In<int64_t> load, In<int64_t> price, Out<int64_t> top,
                            Out<int64_t> count) {
  expect_changes(changes, load, price, top.size());
  expect(top.size() == count.size(), "changes of links");
  LinkLoads loads(static_cast<int64_t>(load.size()), price);
  for (size_t link = 0; link < load.size(); ++link) loads.add(static_cast<int64_t>(link), load[link]);
  const auto apply = [&](int64_t batch, int64_t sign) {
    for (int64_t e = changes.start[batch]; e < changes.start[batch + 1]; ++e)
      loads.add(changes.link[e], sign * changes.amount[e]);
  };
  for (int64_t batch = 0; batch < changes.batches(); ++batch) {
    apply(batch, 1);
    top[batch] = loads.max();
    count[batch] = loads.at_max();
    apply(batch, -1);
  }
}

}  // namespace hopbytes
