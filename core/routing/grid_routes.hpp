// Routes through tori and meshes.
#pragma once
#include <cstdlib>

#include "routing/routes.hpp"

namespace hopbytes {

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
    nodes = (place.empty() ? routers : std::ssize(place)) * per_router;
  }

  int64_t endpoints() const { return nodes; }

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

  int64_t per_router, dimensions, nodes = 0;
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

}  // namespace hopbytes
