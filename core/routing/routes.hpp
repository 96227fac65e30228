// Routes through a network as data. Every form is a struct with
//   bool walk(source, target, visit)   calls visit(link, numerator, denominator) for every link a flow takes;
//                                      returns false if there is no route;
//   int64_t hops(source, target)       links of a shortest route that the form offers, -1 if there is none;
//   bool single_path()                 whether every flow takes one path with its full volume.
// Sources and targets are endpoints (adapters). A flow on a single path uses every link with share 1/1. A
// flow that is spread over several paths may visit a link several times; the shares of links at equal depth
// sum to 1. Grids and forwarding tables are defined here, hierarchies in routes_hierarchy.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "graph/csr.hpp"

namespace hopbytes {

// The shares of flows that split at every vertex are multiples of 1 / kWholeFlow. Remainders go to the later
// links, so that the shares sum to 1 exactly.
inline constexpr int64_t kWholeFlow = int64_t{1} << 40;

// Returns part number `turn` of `share` divided into `count` > turn parts that differ by at most one.
inline int64_t even_part(int64_t share, int64_t turn, int64_t count) {
  return share * (turn + 1) / count - share * turn / count;  // NOLINT(clang-analyzer-core.DivideZero)
}

// Arrays as Python passes them. Their contents depend on the form and are described at each form.
struct RouteArrays {
  In<int64_t> numbers;
  In<int32_t> table;
  In<int32_t> first;
  In<int32_t> head;
};

// A torus or mesh of any dimension with dimension-ordered routing, in the order of the sizes. A wrapped
// dimension is traversed the shorter way; of two equal ones the positive one. The last dimension varies
// fastest. With rule 1 every router divides a flow evenly over the dimensions that lead nearer (adaptive
// routing).
// numbers: nodes per router, dimensions, sizes..., wrapped (0 or 1) per dimension, rule.
// table[node / nodes per router]: its router; empty if nodes are numbered in the order of the routers.
// Link: router * 2 * dimensions + 2 * dimension + (0 in the positive, 1 in the negative direction).
struct GridRoutes {
  explicit GridRoutes(const RouteArrays& a)
      : per_router(a.numbers[0]),
        dimensions(a.numbers[1]),
        size(a.numbers.data() + 2),
        wrapped(size + dimensions),
        spread(wrapped[dimensions] != 0),
        place(a.table),
        stride(dimensions) {
    int64_t routers = 1;
    for (int64_t d = dimensions; d-- > 0; routers *= size[d]) stride[d] = routers;
  }

  int64_t router_of(int64_t node) const {
    return place.empty() ? node / per_router : place[node / per_router];
  }

  bool single_path() const { return !spread; }

  // Returns the signed steps from coordinate `from` to `to` in dimension d.
  int64_t steps(int64_t d, int64_t from, int64_t to) const {
    int64_t delta = to - from;
    if (!wrapped[d]) return delta;
    if (delta < 0) delta += size[d];
    return 2 * delta <= size[d] ? delta : delta - size[d];
  }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    int64_t router = router_of(source);
    const int64_t goal = router_of(target);
    if (spread) {
      divide(router, goal, visit);
      return true;
    }
    for (int64_t d = 0; d < dimensions; ++d) {
      int64_t at = router / stride[d] % size[d];
      int64_t left = steps(d, at, goal / stride[d] % size[d]);
      const int64_t step = left < 0 ? -1 : 1;
      for (; left != 0; left -= step) {
        visit(router * 2 * dimensions + 2 * d + (step < 0), 1, 1);
        const int64_t next = after(d, at, step);
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
      const int64_t delta = steps(d, a / stride[d] % size[d], b / stride[d] % size[d]);
      total += delta < 0 ? -delta : delta;
    }
    return total;
  }

  int64_t after(int64_t d, int64_t at, int64_t step) const {
    return at + step == size[d] ? 0 : at + step < 0 ? size[d] - 1 : at + step;
  }

  int64_t per_router, dimensions;
  const int64_t* size;
  const int64_t* wrapped;
  bool spread;
  In<int32_t> place;
  std::vector<int64_t> stride;

 private:
  // If both directions of a ring are equally long, each carries half of the flow.
  template <class Visit> void divide(int64_t router, int64_t goal, Visit&& visit) const {
    std::vector<int64_t> offsets(dimensions), halfway;
    for (int64_t d = 0; d < dimensions; ++d) {
      offsets[d] = steps(d, router / stride[d] % size[d], goal / stride[d] % size[d]);
      if (wrapped[d] && 2 * offsets[d] == size[d]) halfway.push_back(d);
    }
    const int64_t turns = int64_t{1} << halfway.size();
    for (int64_t turn = 0; turn < turns; ++turn) {
      for (size_t i = 0; i < halfway.size(); ++i) {
        const int64_t length = size[halfway[i]] / 2;
        offsets[halfway[i]] = turn >> i & 1 ? -length : length;
      }
      divide(router, offsets, even_part(kWholeFlow, turn, turns), visit);
    }
  }

  // Visits all routers between source and target, nearer ones first: each passes on the flow it received.
  template <class Visit>
  void divide(int64_t router, const std::vector<int64_t>& offsets, int64_t flow, Visit&& visit) const {
    std::vector<int64_t> box(dimensions), done(dimensions, 0), at(dimensions);
    int64_t cells = 1;
    for (int64_t d = dimensions; d-- > 0;) {
      at[d] = router / stride[d] % size[d];
      box[d] = cells;
      cells *= std::abs(offsets[d]) + 1;
    }
    std::vector<int64_t> share(cells, 0);
    share[0] = flow;
    for (int64_t cell = 0; cell < cells; ++cell) {
      int64_t open = 0, turn = 0, here = 0;
      for (int64_t d = 0; d < dimensions; ++d) open += done[d] != offsets[d], here += at[d] * stride[d];
      for (int64_t d = 0; d < dimensions; ++d) {
        if (done[d] == offsets[d]) continue;
        const int64_t part = even_part(share[cell], turn++, open);
        share[cell + box[d]] += part;
        if (part > 0) visit(here * 2 * dimensions + 2 * d + (offsets[d] < 0), part, kWholeFlow);
      }
      for (int64_t d = dimensions; d-- > 0;) {  // the next cell, the last dimension varies fastest
        const int64_t step = offsets[d] < 0 ? -1 : 1;
        if (done[d] != offsets[d]) {
          done[d] += step;
          at[d] = after(d, at[d], step);
          break;
        }
        for (; done[d] != 0; done[d] -= step) at[d] = after(d, at[d], -step);
      }
    }
  }
};

// All shortest paths through any graph: every vertex divides a flow evenly over the links that lead nearer
// (equal-cost multipath).
// numbers: endpoints, vertices, then the links that leave vertex 0, 1, ..., then, if hosts have several
// endpoints, the host of each: traffic inside a host uses no link.
// first[vertex]: where these links begin (vertices + 1 entries). head[link]: the vertex at its far end.
// table[vertex * endpoints + target]: number of links from a vertex that forwards flows to a target, 0 for
// the target itself; -1 if there is no path or the vertex does not forward.
struct SpreadRoutes {
  explicit SpreadRoutes(const RouteArrays& a)
      : endpoints(a.numbers[0]),
        out(a.numbers.data() + 2),
        table(a.table.data()),
        first(a.first.data()),
        head(a.head.data()) {
    const auto listed = static_cast<size_t>(first[a.numbers[1]]) + 2;
    if (a.numbers.size() > listed) host = a.numbers.data() + listed;
  }

  bool single_path() const { return false; }

  int64_t left(int64_t link, int64_t target) const { return table[head[link] * endpoints + target]; }

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

  int64_t endpoints;
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
      : endpoints(a.numbers[0]),
        vertices(a.numbers[1]),
        host(a.numbers.size() > 3 ? a.numbers.data() + 3 : nullptr),
        table(a.table.data()),
        first(a.first.data()),
        head(a.head.data()) {}

  bool single_path() const { return true; }

  bool stays(int64_t source, int64_t target) const { return host && host[source] == host[target]; }

  int64_t next(int64_t vertex, int64_t target) const {
    const int64_t row = first[vertex];
    return row >= 0 ? table[row * endpoints + target] : -2 - row;
  }

  // Tables may contain loops, but no valid route is longer than the number of vertices. Only routes that
  // arrive are visited.
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

// Routes that are listed one by one.
// numbers: endpoints, then for every source where its targets begin (endpoints + 1 entries), then for every
// pair where its links begin (pairs + 1 entries).
// first[pair]: target, ascending within a source. table: links.
struct ListedRoutes {
  explicit ListedRoutes(const RouteArrays& a)
      : endpoints(a.numbers[0]),
        pair_start(a.numbers.data() + 1),
        link_start(pair_start + endpoints + 1),
        target_of(a.first.data()),
        link(a.table.data()) {}

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

  int64_t endpoints;
  const int64_t* pair_start;
  const int64_t* link_start;
  const int32_t* target_of;
  const int32_t* link;
};

}  // namespace hopbytes
