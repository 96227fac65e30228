// Maximum flows between supplies and demands that may grow, with both extreme minimum cuts.
//
// Two forests of shortest residual paths, one from the supplies and one towards the demands, grow layer by
// layer. Where they meet, flow is pushed; a vertex that loses its parent arc (an orphan) is adopted by a new
// parent at the smallest depth or leaves the forest. (Incremental breadth-first search: Goldberg, Hed,
// Kaplan, Tarjan, Werneck 2011, after the trees of Boykov, Kolmogorov 2004; O(n^2 m) for any capacities.)
// Unlike theirs, the growth continues until neither forest can grow. The forests are then the sets that
// supplies reach and that reach demands: the smallest source side and the smallest sink side of all minimum
// cuts. Both forests survive a change: after vertices were added to a side, the next call works only where
// something is new.
#pragma once
#include "util/control.hpp"
#include "partition/refinement/flow_network.hpp"

namespace hopbytes {

enum class Side : uint8_t { kFree, kSource, kSink };

class MaxFlow {
 public:
  // Scanned edges are subtracted from work_left; the computation stops when it is negative.
  MaxFlow(FlowNetwork& net, int64_t& work_left, const Control& control)
      : net_(net), work_left_(work_left), control_(control) {}

  // Starts with a new network and no flow.
  void start() {
    vertex_.assign(net_.n(), {0, kNone, kNone, kNone});
    for (Forest& forest : forest_) forest.clear();
    for (int32_t v = 0; v < net_.n(); ++v) {
      if (net_.terminal(v) > 0) join<kSource>(v, 1, kNone);
      if (net_.terminal(v) < 0) join<kSink>(v, 1, kNone);
    }
  }

  // Pushes the remaining flow. Returns less than the maximum if `limit` is reached or the work is used up;
  // the sides are then meaningless.
  int64_t augment(int64_t limit) {
    pushed_ = 0, limit_ = limit;
    adopt<kSource>();
    adopt<kSink>();
    const Forest &from = forest_[kSource], &to = forest_[kSink];
    while (!enough() && !(from.border.empty() && to.border.empty())) {
      // Grows the layer that is cheaper to scan; an empty layer cannot grow.
      if (to.border.empty() || (!from.border.empty() && from.border_arcs <= to.border_arcs)) grow<kSource>();
      else grow<kSink>();
    }
    return pushed_;
  }

  Side side(int32_t v) const {
    return vertex_[v].label == 0 ? Side::kFree : vertex_[v].label > 0 ? Side::kSource : Side::kSink;
  }
  int64_t load(Side side) const { return forest_[side == Side::kSource ? kSource : kSink].load; }

  // Fixes all vertices of a side on it, as supplies or demands of infinite capacity. Calls visit(u) for the
  // vertices adjacent to those that were fixed by this call. The flow must be maximum.
  template <class Visit> void fix(Side side, Visit visit) {
    side == Side::kSource ? fix<kSource>(visit) : fix<kSink>(visit);
  }

  // Adds v, which is adjacent to a fixed side, to that side. Returns the part of the other side's terminal at
  // v that carried no flow.
  int64_t assign(Side side, int32_t v) {
    return side == Side::kSource ? assign<kSource>(v) : assign<kSink>(v);
  }

 private:
  using Arc = FlowNetwork::Arc;
  static constexpr int64_t kInfinite = FlowNetwork::kInfinite;
  static constexpr int32_t kNone = -1, kOrphan = -2;
  enum Tree : int32_t { kSource = 0, kSink = 1 };

  struct Vertex {
    int32_t label;  // depth (from 1) in the source forest, minus the depth in the sink forest, 0 in neither
    int32_t parent;  // arc to the parent; kNone for terminals, kOrphan while a new parent is searched
    // No arc before this one leads to a parent at the present depth; kNone for fixed vertices.
    int32_t current;
    int32_t next;  // next entry in the list of orphans
  };
  struct Forest {
    // vertices at depth `top` that were not scanned yet; some may have left the forest
    std::vector<int32_t> border;
    int64_t border_arcs, load;
    int32_t top, lowest, highest;  // depths of the border and of the shallowest and deepest orphans
    std::vector<int32_t> orphan;  // by depth, the first orphan of a list
    // vertices since the side was fixed; may hold duplicates and vertices that have left
    std::vector<int32_t> joined;

    void clear() {
      border.clear();
      joined.clear();
      border_arcs = load = 0;
      top = 1;
      std::fill(orphan.begin(), orphan.end(), kNone);
      lowest = static_cast<int32_t>(orphan.size()), highest = -1;
    }
  };

  static constexpr int32_t sign(Tree tree) { return tree == kSource ? 1 : -1; }
  static constexpr Tree other(Tree tree) { return tree == kSource ? kSink : kSource; }
  template <Tree tree> int32_t depth(int32_t v) const { return sign(tree) * vertex_[v].label; }
  bool enough() const { return pushed_ >= limit_ || work_left_ < 0 || control_.should_stop(); }

  // Residual capacity in the direction in which the forest grows along the arc; inward() is the opposite
  // direction.
  template <Tree tree> int64_t outward(const Arc& arc) const {
    return tree == kSource ? arc.residual : net_[arc.reverse].residual;
  }
  template <Tree tree> int64_t inward(const Arc& arc) const { return outward<other(tree)>(arc); }

  template <Tree tree> void join(int32_t v, int32_t depth, int32_t parent) {
    forest_[tree].joined.push_back(v);
    forest_[tree].load += net_.load(v);
    vertex_[v].current = net_.begin(v);
    place<tree>(v, depth, parent);
  }

  template <Tree tree> void leave(int32_t v) {
    forest_[tree].load -= net_.load(v);
    vertex_[v].label = 0;
  }

  template <Tree tree> void place(int32_t v, int32_t depth, int32_t parent) {
    Forest& forest = forest_[tree];
    vertex_[v].label = sign(tree) * depth;
    vertex_[v].parent = parent;
    if (depth != forest.top) return;
    forest.border.push_back(v);
    forest.border_arcs += net_.work(v);
  }

  template <Tree tree> void grow() {
    Forest& forest = forest_[tree];
    layer_.swap(forest.border);
    forest.border.clear();
    forest.border_arcs = 0;
    const int32_t at = forest.top++;
    for (const int32_t v : layer_) {
      if (depth<tree>(v) != at) continue;
      work_left_ -= net_.work(v);
      for (int32_t e = net_.begin(v); e < net_.end(v); ++e) {
        const int32_t u = net_[e].head;
        if (depth<tree>(u) > 0 || outward<tree>(net_[e]) == 0) continue;
        if (depth<tree>(u) == 0) {
          join<tree>(u, at + 1, net_[e].reverse);
          continue;
        }
        while (depth<tree>(v) == at && depth<tree>(u) < 0 && outward<tree>(net_[e]) > 0) {
          push(tree == kSource ? e : net_[e].reverse);
          if (enough()) return;
        }
        if (depth<tree>(v) != at) break;
        if (depth<tree>(u) == 0) --e;  // u left the other forest: scan this arc again
      }
    }
  }

  // Pushes as much flow as fits through the arc that connects the forests.
  void push(int32_t bridge) {
    const int32_t s = net_[net_[bridge].reverse].head, t = net_[bridge].head;
    int64_t amount = net_[bridge].residual;
    amount = fit<kSink>(t, fit<kSource>(s, amount));
    net_.push(bridge, amount);
    drain<kSource>(s, amount);
    drain<kSink>(t, amount);
    pushed_ += amount;
    adopt<kSource>();
    adopt<kSink>();
  }

  template <Tree tree> int64_t fit(int32_t v, int64_t amount) {
    int64_t steps = 1;
    for (; vertex_[v].parent != kNone; ++steps) {
      const Arc& arc = net_[vertex_[v].parent];
      amount = std::min(amount, inward<tree>(arc));
      v = arc.head;
    }
    work_left_ -= steps;
    return std::min(amount, std::abs(net_.terminal(v)));
  }

  template <Tree tree> void drain(int32_t v, int64_t amount) {
    while (vertex_[v].parent != kNone) {
      const int32_t up = vertex_[v].parent, along = tree == kSource ? net_[up].reverse : up;
      const int32_t above = net_[up].head;
      net_.push(along, amount);
      if (net_[along].residual == 0) abandon<tree>(v);
      v = above;
    }
    if (std::abs(net_.terminal(v)) >= kInfinite / 2) return;
    net_.terminal(v) -= sign(tree) * amount;
    if (net_.terminal(v) == 0) abandon<tree>(v);
  }

  template <Tree tree> void abandon(int32_t v) {
    Forest& forest = forest_[tree];
    const int32_t at = depth<tree>(v);
    if (at >= static_cast<int32_t>(forest.orphan.size())) forest.orphan.resize(2 * at + 2, kNone);
    vertex_[v].parent = kOrphan;
    vertex_[v].next = forest.orphan[at];
    forest.orphan[at] = v;
    forest.lowest = std::min(forest.lowest, at);
    forest.highest = std::max(forest.highest, at);
  }

  // Adopts orphans in the order of their depth: a parent found then remains valid, unless it is closer to the
  // root and an orphan itself, which is processed earlier.
  template <Tree tree> void adopt() {
    Forest& forest = forest_[tree];
    for (int32_t at = forest.lowest; at <= forest.highest; ++at)
      while (forest.orphan[at] != kNone) {
        const int32_t v = forest.orphan[at];
        forest.orphan[at] = vertex_[v].next;
        if (at == 1 || !same_depth<tree>(v, at)) deeper<tree>(v);
      }
    forest.lowest = static_cast<int32_t>(forest.orphan.size()), forest.highest = -1;
  }

  template <Tree tree> bool same_depth(int32_t v, int32_t at) {
    Vertex& vertex = vertex_[v];
    const int32_t end = net_.end(v), begin = vertex.current;
    for (int32_t e = begin; e < end; ++e)
      if (depth<tree>(net_[e].head) == at - 1 && inward<tree>(net_[e]) > 0) {
        vertex.parent = vertex.current = e;
        work_left_ -= e + 1 - begin;
        return true;
      }
    work_left_ -= end - begin;
    return false;
  }

  // Makes v a child of the nearest neighbour that is no deeper than the border; the arcs of the border have
  // not been scanned and will find v again.
  template <Tree tree> void deeper(int32_t v) {
    int32_t nearest = forest_[tree].top, parent = kNone;
    for (int32_t e = net_.begin(v); e < net_.end(v); ++e) {
      const Arc& arc = net_[e];
      const int32_t at = depth<tree>(arc.head);
      if (at <= 0) continue;
      if (vertex_[arc.head].parent == arc.reverse) abandon<tree>(arc.head);
      if (at < nearest && inward<tree>(arc) > 0) nearest = at, parent = e;
    }
    work_left_ -= net_.work(v);
    if (parent == kNone) return leave<tree>(v);
    vertex_[v].current = parent;
    place<tree>(v, nearest + 1, parent);
  }

  template <Tree tree, class Visit> void fix(Visit visit) {
    Forest& forest = forest_[tree];
    for (const int32_t v : forest.joined) {
      if (depth<tree>(v) <= 0 || vertex_[v].current == kNone) continue;
      net_.terminal(v) = sign(tree) * kInfinite;
      vertex_[v] = {sign(tree), kNone, kNone, kNone};
      for (int32_t e = net_.begin(v); e < net_.end(v); ++e) visit(net_[e].head);
      work_left_ -= net_.work(v);
    }
    forest.joined.clear();
    forest.top = 1;
  }

  template <Tree tree> int64_t assign(int32_t v) {
    const int64_t unmet = std::max<int64_t>(0, -sign(tree) * net_.terminal(v));
    if (depth<tree>(v) < 0) {
      for (int32_t e = net_.begin(v); e < net_.end(v); ++e)
        if (const int32_t u = net_[e].head; depth<tree>(u) < 0 && vertex_[u].parent == net_[e].reverse)
          abandon<other(tree)>(u);
      work_left_ -= net_.work(v);
      leave<other(tree)>(v);
    }
    net_.terminal(v) = sign(tree) * kInfinite;
    join<tree>(v, 1, kNone);
    return unmet;
  }

  FlowNetwork& net_;
  int64_t& work_left_;
  const Control& control_;
  int64_t pushed_ = 0, limit_ = 0;
  Forest forest_[2];
  std::vector<Vertex> vertex_;
  std::vector<int32_t> layer_;
};

}  // namespace hopbytes
