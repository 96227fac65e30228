// Routes through a network as data: few forms, each a struct with
//   bool walk(source, target, visit)   calls visit(link, numerator, denominator) for every link a flow
//                                      takes, and returns false where there is no route;
//   int64_t hops(source, target)       links of a shortest route the form offers, -1 where there is none.
// Sources and targets are endpoints (adapters). A flow on a single path takes every link with share 1/1.
// Spread over several paths it may visit one link several times; shares of links at equal depth sum to 1.
// Grids and forwarding tables are here, hierarchies in routes_hierarchy.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "csr.hpp"

namespace hopbytes {

// Arrays as Python gives them; what they hold depends on the form (kernels/routes.py describes each).
struct RouteArrays {
  In<int64_t> numbers;
  In<int32_t> table;
  In<int32_t> first;
  In<int32_t> head;
};

// Torus or mesh of any dimension, routed dimension by dimension in the order of the sizes. In a wrapped
// dimension the shorter way round; of two equal ones the positive. The last dimension varies fastest.
// numbers: nodes per router, dimensions, sizes..., wrapped (0 or 1) per dimension.
// table[node / nodes per router]: its router; empty when nodes are numbered as routers are.
// Link: router * 2 * dimensions + 2 * dimension + (0 in the positive, 1 in the negative direction).
struct GridRoutes {
  explicit GridRoutes(const RouteArrays& a)
      : per_router(a.numbers[0]), dimensions(a.numbers[1]), size(a.numbers.data() + 2),
        wrapped(size + dimensions), place(a.table), stride(dimensions) {
    int64_t routers = 1;
    for (int64_t d = dimensions; d-- > 0; routers *= size[d]) stride[d] = routers;
  }

  int64_t router_of(int64_t node) const { return place.empty() ? node / per_router : place[node / per_router]; }

  // Signed steps from coordinate `from` to `to` in dimension d.
  int64_t steps(int64_t d, int64_t from, int64_t to) const {
    int64_t way = to - from;
    if (!wrapped[d]) return way;
    if (way < 0) way += size[d];
    return 2 * way <= size[d] ? way : way - size[d];
  }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    int64_t router = router_of(source);
    const int64_t goal = router_of(target);
    for (int64_t d = 0; d < dimensions; ++d) {
      int64_t at = router / stride[d] % size[d];
      int64_t left = steps(d, at, goal / stride[d] % size[d]);
      const int64_t step = left < 0 ? -1 : 1;
      for (; left != 0; left -= step) {
        visit(router * 2 * dimensions + 2 * d + (step < 0), 1, 1);
        const int64_t next = at + step == size[d] ? 0 : at + step < 0 ? size[d] - 1 : at + step;
        router += (next - at) * stride[d];
        at = next;
      }
    }
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const {
    const int64_t a = router_of(source), b = router_of(target);
    int64_t total = 0;
    for (int64_t d = 0; d < dimensions; ++d) {
      const int64_t way = steps(d, a / stride[d] % size[d], b / stride[d] % size[d]);
      total += way < 0 ? -way : way;
    }
    return total;
  }

  int64_t per_router, dimensions;
  const int64_t* size;
  const int64_t* wrapped;
  In<int32_t> place;
  std::vector<int64_t> stride;
};

// Destination-based forwarding: every vertex knows the link towards every endpoint. Vertices 0, 1, ... are
// the endpoints, switches follow. A vertex with a row looks it up there, one without has a single link.
// numbers: endpoints, vertices, links, then, where hosts have several endpoints, the host of each: what a host
// sends to itself takes no link, whichever adapters it would use.  first[vertex]: -2 - link without a row, -1 for a dead end, else row.
// table[row * endpoints + target]: link, or -1.  head[link]: vertex at its far end.
struct ForwardingRoutes {
  explicit ForwardingRoutes(const RouteArrays& a)
      : endpoints(a.numbers[0]), vertices(a.numbers[1]),
        host(a.numbers.size() > 3 ? a.numbers.data() + 3 : nullptr), table(a.table.data()),
        first(a.first.data()), head(a.head.data()) {}

  bool stays(int64_t source, int64_t target) const { return host && host[source] == host[target]; }

  int64_t next(int64_t vertex, int64_t target) const {
    const int64_t row = first[vertex];
    return row >= 0 ? table[row * endpoints + target] : -2 - row;
  }

  // Tables may hold loops: no route is longer than there are vertices. Only routes that arrive are visited.
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

  int64_t endpoints, vertices;
  const int64_t* host;
  const int32_t* table;
  const int32_t* first;
  const int32_t* head;
};

// Routes written down one by one. numbers: endpoints, then for every source where its targets begin
// (endpoints + 1 entries), then for every pair where its links begin (pairs + 1 entries).
// first[pair]: target, ascending within a source.  table: links.
struct ListedRoutes {
  explicit ListedRoutes(const RouteArrays& a)
      : endpoints(a.numbers[0]), pair_start(a.numbers.data() + 1), link_start(pair_start + endpoints + 1),
        target_of(a.first.data()), link(a.table.data()) {}

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

  int64_t endpoints;
  const int64_t* pair_start;
  const int64_t* link_start;
  const int32_t* target_of;
  const int32_t* link;
};

}  // namespace hopbytes
