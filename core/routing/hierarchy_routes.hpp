// Routes that follow from arithmetic: fat trees, dragonflies, HyperX.
#pragma once
#include "routing/routes.hpp"

namespace hopbytes {

// Parallel-port generalised fat tree: a node of level i has below[i] children, and above[i - 1] parents with
// cables[i - 1] cables to each. A route ascends to the lowest common level and descends from there. The cable
// up from level i is chosen by floor(key / (above[0] * ... * above[i - 1])) mod (above[i] * cables[i]), where
// the key is the target (D-mod-k, Zahavi 2012) or the source (S-mod-k); alternatively flows are spread evenly
// over all shortest paths.
// numbers: levels h, nodes, rule (0 target, 1 source, 2 spread), below[h], above[h], cables[h].
// Cables are numbered by their lower end, level by level; link 2 * cable leads up, 2 * cable + 1 down.
struct FatTreeRoutes {
  explicit FatTreeRoutes(const RouteArrays& a)
      : levels(a.numbers[0]),
        rule(a.numbers[2]),
        below(a.numbers.data() + 3),
        above(below + levels),
        cables(above + levels),
        leaves(levels + 1, 1),
        width(levels + 1, 1),
        first_cable(levels, 0) {
    for (int64_t i = 0; i < levels; ++i) {
      leaves[i + 1] = leaves[i] * below[i];
      width[i + 1] = width[i] * above[i];
    }
    for (int64_t i = 0; i + 1 < levels; ++i)
      first_cable[i + 1] = first_cable[i] + leaves[levels] / leaves[i] * width[i] * above[i] * cables[i];
  }

  int64_t endpoints() const { return leaves[levels]; }
  bool single_path() const { return rule != 2; }

  int64_t meeting_level(int64_t source, int64_t target) const {
    int64_t level = 0;
    while (source / leaves[level] != target / leaves[level]) ++level;
    return level;
  }

  // Returns the cable from the switch of level i above node `leaf` with column `column` to its `parent`.
  int64_t cable(int64_t i, int64_t leaf, int64_t column, int64_t parent, int64_t copy) const {
    const int64_t lower = leaf / leaves[i] * width[i] + column;
    return first_cable[i] + (lower * above[i] + parent) * cables[i] + copy;
  }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    const int64_t top = meeting_level(source, target);
    if (rule == 2) {
      spread(source, top, 0, visit);
      spread(target, top, 1, visit);
      return true;
    }
    const int64_t key = rule == 0 ? target : source;
    int64_t column = 0;  // column of the present switch; the ascent and the descent use the same columns
    for (int64_t i = 0; i < top; ++i) {
      const int64_t port = key / width[i] % (above[i] * cables[i]);
      visit(2 * cable(i, source, column, port % above[i], port / above[i]), 1, 1);
      column += width[i] * (port % above[i]);
    }
    for (int64_t i = top; i-- > 0;) {
      const int64_t port = key / width[i] % (above[i] * cables[i]);
      column -= width[i] * (port % above[i]);
      visit(2 * cable(i, target, column, port % above[i], port / above[i]) + 1, 1, 1);
    }
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const { return 2 * meeting_level(source, target); }

  int64_t levels, rule;
  const int64_t* below;
  const int64_t* above;
  const int64_t* cables;
  std::vector<int64_t> leaves, width, first_cable;

 private:
  // Visits all cables above `leaf` up to level `top`, each with an even share: all columns of a level can be
  // reached.
  template <class Visit> void spread(int64_t leaf, int64_t top, int64_t down, Visit&& visit) const {
    for (int64_t i = 0; i < top; ++i) {
      const int64_t links = width[i] * above[i] * cables[i];
      for (int64_t column = 0; column < width[i]; ++column)
        for (int64_t parent = 0; parent < above[i]; ++parent)
          for (int64_t copy = 0; copy < cables[i]; ++copy)
            visit(2 * cable(i, leaf, column, parent, copy) + down, 1, links);
    }
  }
};

// HyperX: a lattice of routers in which every two routers that differ in one coordinate only are linked. A
// route makes one hop per differing coordinate, in the order of the sizes. The last dimension varies fastest.
// numbers: nodes per router, dimensions, sizes...
// Links 2 * node (in) and 2 * node + 1 (out of the network); then router * ports + port.
struct HyperXRoutes {
  explicit HyperXRoutes(const RouteArrays& a)
      : per_router(a.numbers[0]), dimensions(a.numbers[1]), size(a.numbers.data() + 2), stride(dimensions) {
    int64_t routers = 1;
    for (int64_t d = dimensions; d-- > 0; routers *= size[d]) stride[d] = routers, ports += size[d] - 1;
    first_link = 2 * routers * per_router;
  }

  int64_t endpoints() const { return first_link / 2; }
  bool single_path() const { return true; }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    if (source == target) return true;
    int64_t router = source / per_router, port = 0;
    const int64_t goal = target / per_router;
    visit(2 * source, 1, 1);
    for (int64_t d = 0; d < dimensions; port += size[d] - 1, ++d) {
      const int64_t at = router / stride[d] % size[d], to = goal / stride[d] % size[d];
      if (at == to) continue;
      visit(first_link + router * ports + port + (to < at ? to : to - 1), 1, 1);
      router += (to - at) * stride[d];
    }
    visit(2 * target + 1, 1, 1);
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const {
    if (source == target) return 0;
    const int64_t a = source / per_router, b = target / per_router;
    int64_t total = 2;
    for (int64_t d = 0; d < dimensions; ++d) total += a / stride[d] % size[d] != b / stride[d] % size[d];
    return total;
  }

  int64_t per_router, dimensions;
  const int64_t* size;
  int64_t ports = 0, first_link = 0;
  std::vector<int64_t> stride;
};

// Dragonfly: groups of routers that are all linked with each other, and links between groups. Port `port` of
// a group (each router in turn has `global` of them) leads to another group by the arrangement. If a group
// has more ports than there are other groups, pairs of groups have several links ("copies").
//   absolute: port q * (groups - 1) + t leads to group t, or t + 1 from t = own number on;
//   palm tree: port q * (groups - 1) + t leads to group own - t - 1 (modulo groups).
// Minimal routes take one link between groups: of the copies with the fewest hops number (target mod their
// count), or with `spread` all of them evenly. Valiant routes pass through a third group, evenly through all
// of them; flows inside one group are minimal.
// numbers: groups, routers per group, nodes per router, global ports per router, palm tree (0 or 1), rule (0
// minimal, 1 spread, 2 Valiant).
// Links 2 * node (in), 2 * node + 1 (out); then per router its links to the others of the group, then per
// router its global ports.
struct DragonflyRoutes {
  explicit DragonflyRoutes(const RouteArrays& a)
      : groups(a.numbers[0]),
        routers(a.numbers[1]),
        nodes(a.numbers[2]),
        global(a.numbers[3]),
        palm(a.numbers[4] != 0),
        rule(a.numbers[5]),
        copies(groups > 1 ? (routers * global + groups - 2) / (groups - 1) : 0),
        first_local(2 * groups * routers * nodes),
        first_global(first_local + groups * routers * (routers - 1)) {}

  int64_t endpoints() const { return first_local / 2; }
  bool single_path() const { return rule == 0; }

  int64_t local_link(int64_t group, int64_t from, int64_t to) const {
    return first_local + (group * routers + from) * (routers - 1) + (to < from ? to : to - 1);
  }
  int64_t global_link(int64_t group, int64_t port) const {
    return first_global + group * routers * global + port;
  }

  // Returns the port of `group` for copy number `copy` of its links to `other`; it may exceed the last port.
  int64_t port_to(int64_t group, int64_t other, int64_t copy) const {
    const int64_t turn = palm ? (group - other + groups) % groups - 1 : other < group ? other : other - 1;
    return copy * (groups - 1) + turn;
  }
  bool exists(int64_t a, int64_t b, int64_t copy) const {
    const int64_t ports = routers * global;
    return port_to(a, b, copy) < ports && port_to(b, a, copy) < ports;
  }

  // Shortest routes from router `from` of group a to `to` of group b (-1: any): hops, and how many copies
  // tie.
  std::pair<int64_t, int64_t> nearest(int64_t a, int64_t from, int64_t b, int64_t to) const {
    int64_t fewest = 4, count = 0;
    for (int64_t copy = 0; copy < copies; ++copy) {
      if (!exists(a, b, copy)) continue;
      const int64_t hops = length(a, from, b, to, copy);
      if (hops < fewest) fewest = hops, count = 0;
      if (hops == fewest) ++count;
    }
    return {fewest, count};
  }
  int64_t length(int64_t a, int64_t from, int64_t b, int64_t to, int64_t copy) const {
    return 1 + (port_to(a, b, copy) / global != from) + (to >= 0 && port_to(b, a, copy) / global != to);
  }

  template <class Visit> bool walk(int64_t source, int64_t target, Visit&& visit) const {
    if (source == target) return true;
    const int64_t s = source / nodes, t = target / nodes, a = s / routers, b = t / routers;
    visit(2 * source, 1, 1);
    if (a == b) {
      if (s != t) visit(local_link(a, s % routers, t % routers), 1, 1);
    } else if (rule == 2 && groups > 2) {
      for (int64_t via = 0; via < groups; ++via) {
        if (via == a || via == b) continue;
        const int64_t landing = cross(a, s % routers, via, -1, target, groups - 2, visit);
        cross(via, landing, b, t % routers, target, groups - 2, visit);
      }
    } else {
      cross(a, s % routers, b, t % routers, target, 1, visit);
    }
    visit(2 * target + 1, 1, 1);
    return true;
  }

  int64_t hops(int64_t source, int64_t target) const {
    if (source == target) return 0;
    const int64_t s = source / nodes, t = target / nodes, a = s / routers, b = t / routers;
    if (a == b) return 2 + (s != t);
    return 2 + nearest(a, s % routers, b, t % routers).first;
  }

  int64_t groups, routers, nodes, global;
  bool palm;
  int64_t rule, copies, first_local, first_global;

 private:
  // Routes 1 / parts of the flow from router `from` of a to `to` of b (-1: any). Returns the router reached.
  template <class Visit>
  int64_t cross(int64_t a, int64_t from, int64_t b, int64_t to, int64_t target, int64_t parts,
                Visit&& visit) const {
    const auto [fewest, count] = nearest(a, from, b, to);
    const bool all = rule == 1;
    // Two groups have a link: Python refuses machines with too few ports.
    int64_t skip = all ? 0 : target % count, reached = to;  // NOLINT(clang-analyzer-core.DivideZero)
    for (int64_t copy = 0; copy < copies; ++copy) {
      if (!exists(a, b, copy) || length(a, from, b, to, copy) != fewest || skip-- > 0) continue;
      const int64_t out = port_to(a, b, copy), back = port_to(b, a, copy), share = all ? count : parts;
      if (out / global != from) visit(local_link(a, from, out / global), 1, share);
      visit(global_link(a, out), 1, share);
      if (to < 0) reached = back / global;
      else if (back / global != to) visit(local_link(b, back / global, to), 1, share);
      if (!all) break;
    }
    return reached;
  }
};

}  // namespace hopbytes
