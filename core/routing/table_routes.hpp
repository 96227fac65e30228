// Routes that stand in tables: of any network, all shortest paths, forwarding tables, and lists.
#pragma once
#include "routing/routes.hpp"

namespace hopbytes {

// All shortest paths through any graph: every vertex divides a flow evenly over the links that lead nearer
// (equal-cost multipath).
// numbers: endpoints, vertices, then the links that leave vertex 0, 1, ..., then, if hosts have several
// endpoints, the host of each: traffic inside a host uses no link.
// first[vertex]: where these links begin (vertices + 1 entries). head[link]: the vertex at its far end.
// table[vertex * endpoints + target]: number of links from a vertex that forwards flows to a target, 0 for
// the target itself; -1 if there is no path or the vertex does not forward.
struct SpreadRoutes {
  explicit SpreadRoutes(const RouteArrays& a)
      : ends(a.numbers[0]),
        out(a.numbers.data() + 2),
        table(a.table.data()),
        first(a.first.data()),
        head(a.head.data()) {
    const auto listed = static_cast<size_t>(first[a.numbers[1]]) + 2;
    if (a.numbers.size() > listed) host = a.numbers.data() + listed;
  }

  int64_t endpoints() const { return ends; }
  bool single_path() const { return false; }

  int64_t left(int64_t link, int64_t target) const { return table[head[link] * ends + target]; }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    int64_t hops_left = hops(source, target);
    if (hops_left < 0) return false;
    std::vector<std::pair<int64_t, int64_t>> here{{source, kWholeFlow}}, next;
    for (; hops_left > 0; --hops_left, here.swap(next), next.clear())
      for (const auto& [vertex, share] : here) {
        int64_t count = 0, turn = 0;
        for (int64_t e = first[vertex]; e < first[vertex + 1]; ++e)
          count += left(out[e], target) == hops_left - 1;
        for (int64_t e = first[vertex]; e < first[vertex + 1]; ++e) {
          if (left(out[e], target) != hops_left - 1) continue;
          const int64_t part = even_part(share, turn++, count);
          if (part == 0) continue;
          visit(out[e], part, kWholeFlow);
          const int64_t reached = head[out[e]];
          auto found =
              std::find_if(next.begin(), next.end(), [&](const auto& one) { return one.first == reached; });
          if (found == next.end()) next.emplace_back(reached, part);
          else found->second += part;
        }
      }
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const {
    if (source == target || (host && host[source] == host[target])) return 0;
    int64_t fewest = -1;
    for (int64_t e = first[source]; e < first[source + 1]; ++e)
      if (const int64_t more = left(out[e], target); more >= 0 && (fewest < 0 || more < fewest))
        fewest = more;
    return fewest < 0 ? -1 : fewest + 1;
  }

  int64_t ends;
  const int64_t* out;
  const int64_t* host = nullptr;
  const int32_t* table;
  const int32_t* first;
  const int32_t* head;
};

// Destination-based forwarding: every vertex knows the link towards every endpoint. The vertices 0, 1, ...
// are the endpoints, the switches follow. A vertex with a row in the table looks the link up there, one
// without has a single link.
// numbers: endpoints, vertices, links, then, if hosts have several endpoints, the host of each: traffic
// inside a host uses no link, whichever adapters it would use.
// first[vertex]: -2 - link for a vertex without a row, -1 for a dead end, else its row.
// table[row * endpoints + target]: link, or -1. head[link]: the vertex at its far end.
struct ForwardingRoutes {
  explicit ForwardingRoutes(const RouteArrays& a)
      : ends(a.numbers[0]),
        vertices(a.numbers[1]),
        host(a.numbers.size() > 3 ? a.numbers.data() + 3 : nullptr),
        table(a.table.data()),
        first(a.first.data()),
        head(a.head.data()) {}

  int64_t endpoints() const { return ends; }
  int64_t sources() const { return vertices; }
  bool single_path() const { return true; }

  bool stays(int64_t source, int64_t target) const { return host && host[source] == host[target]; }

  int64_t next(int64_t vertex, int64_t target) const {
    const int64_t row = first[vertex];
    return row >= 0 ? table[row * ends + target] : -2 - row;
  }

  // Tables may contain loops, but no route is longer than the number of vertices.
  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    if (hops(source, target) < 0) return false;
    if (stays(source, target)) return true;
    for (int64_t vertex = source; vertex != target;) {
      const int64_t link = next(vertex, target);
      visit(link, 1, 1);
      vertex = head[link];
    }
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const {
    if (stays(source, target)) return 0;
    int64_t total = 0;
    for (int64_t vertex = source; vertex != target; ++total) {
      const int64_t link = next(vertex, target);
      if (link < 0 || total == vertices) return -1;
      vertex = head[link];
    }
    return total;
  }

  int64_t ends, vertices;
  const int64_t* host;
  const int32_t* table;
  const int32_t* first;
  const int32_t* head;
};

// Routes that are listed one by one.
// numbers: endpoints, then for every source where its targets begin (endpoints + 1 entries), then for every
// pair where its links begin (pairs + 1 entries).
// first[pair]: target, ascending within a source. table: links.
struct ListedRoutes {
  explicit ListedRoutes(const RouteArrays& a)
      : ends(a.numbers[0]),
        pair_start(a.numbers.data() + 1),
        link_start(pair_start + ends + 1),
        target_of(a.first.data()),
        link(a.table.data()) {}

  int64_t endpoints() const { return ends; }
  bool single_path() const { return true; }

  int64_t find(int64_t source, int64_t target) const {
    const int32_t* begin = target_of + pair_start[source];
    const int32_t* end = target_of + pair_start[source + 1];
    const int32_t* place = std::lower_bound(begin, end, static_cast<int32_t>(target));
    return place != end && *place == target ? place - target_of : -1;
  }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    if (source == target) return true;
    const int64_t pair = find(source, target);
    if (pair < 0) return false;
    for (int64_t i = link_start[pair]; i < link_start[pair + 1]; ++i) visit(link[i], 1, 1);
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const {
    if (source == target) return 0;
    const int64_t pair = find(source, target);
    return pair < 0 ? -1 : link_start[pair + 1] - link_start[pair];
  }

  int64_t ends;
  const int64_t* pair_start;
  const int64_t* link_start;
  const int32_t* target_of;
  const int32_t* link;
};

}  // namespace hopbytes
