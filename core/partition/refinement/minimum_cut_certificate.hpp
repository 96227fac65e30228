// Verifies whether a cut is a minimum cut, starting from the cut itself.
//
// If all arcs of a cut are saturated, the flow across it leaves excess on the far side and a deficit on the
// near side. The cut is minimum if and only if each side can route this on its own: excess to demands,
// deficits to supplies. Each of these two flow problems is about half as deep as the whole one, and where the
// cut is narrow nearly all flow leaves it directly. Push-relabel solves them, highest label first, with exact
// initial distances (Goldberg, Tarjan 1988; Cherkassky, Goldberg 1997). A side that cannot route everything
// routes as much as it can: a pseudoflow (Hochbaum 2008) from which a maximum flow across the cut is near.
// Vertices above a gap, a distance at which no vertex is left, cannot reach a demand and are set aside.
#pragma once
#include "util/control.hpp"
#include "partition/refinement/flow_network.hpp"

namespace hopbytes {

// Two of them may be in use by two threads, so that no cache line holds parts of both.
class alignas(64) MinimumCutCertificate {
 public:
  MinimumCutCertificate(FlowNetwork& net, int64_t& work_left, const Control& control)
      : net_(net), work_left_(work_left), control_(control) {}

  // Routes as much as possible of the supplies of the vertices first .. last-1 to the demands among them (or,
  // backward, of demands to supplies) and updates the terminals. No arc out of this range may have residual
  // capacity. Returns whether everything was routed; false as well if the work is used up or the time is
  // over. Nothing outside the range is changed, so that two ranges can be looked at by two threads.
  bool route_excess(int32_t first, int32_t last, bool backward) {
    return backward ? route_excess<-1>(first, last) : route_excess<1>(first, last);
  }

 private:
  static constexpr int32_t kNone = -1;
  // Not one less than any distance, so that nothing is pushed there.
  static constexpr int32_t kUnreachable = -2;

  template <int sign> int64_t excess(int32_t v) { return sign * net_.terminal(v); }
  template <int sign> int64_t residual(int32_t e) const { return sign > 0 ? net_[e].residual : net_.back(e); }

  template <int sign> bool route_excess(int32_t first, int32_t last) {
    find_distances<sign>(first, last);
    first_.assign(count_.size(), kNone);
    highest_ = 0;
    bool all = true;
    for (int32_t v = first; v < last; ++v)
      if (excess<sign>(v) > 0) {
        if (vertex_[v].distance == kUnreachable) all = false;
        else activate(v);
      }
    for (; highest_ >= 0; --highest_)
      while (first_[highest_] != kNone) {
        const int32_t v = first_[highest_];
        first_[highest_] = vertex_[v].next;
        while (!discharge<sign>(v)) {
          if (work_left_ < 0 || control_.should_stop()) return false;
          if (relabel<sign>(v)) continue;
          all = false;
          set_aside(v, first, last);
          break;
        }
      }
    return all;
  }

  // Computes exact distances to the nearest demand.
  template <int sign> void find_distances(int32_t first, int32_t last) {
    vertex_.resize(net_.n());
    queue_.resize(last - first);
    int32_t queued = 0;
    for (int32_t v = first; v < last; ++v) {
      const bool target = excess<sign>(v) < 0;
      vertex_[v] = {target ? 0 : kUnreachable, net_.begin(v), kNone};
      if (target) queue_[queued++] = v;
    }
    count_.assign(1, 0);
    for (int32_t q = 0; q < queued; ++q) {
      const int32_t v = queue_[q], distance = vertex_[v].distance;
      count_.resize(distance + 1);
      ++count_[distance];
      for (int32_t e = net_.begin(v); e < net_.end(v); ++e)
        if (Vertex& other = vertex_[net_[e].head]; other.distance == kUnreachable && residual<-sign>(e) > 0) {
          other.distance = distance + 1;
          queue_[queued++] = net_[e].head;
        }
      work_left_ -= net_.work(v);
    }
  }

  void activate(int32_t v) {
    const int32_t at = vertex_[v].distance;
    vertex_[v].next = first_[at];
    first_[at] = v;
    highest_ = std::max(highest_, at);
  }

  // Pushes excess along arcs that lead nearer. Returns whether v has no excess left.
  template <int sign> bool discharge(int32_t v) {
    Vertex& vertex = vertex_[v];
    int64_t left = excess<sign>(v);
    const int32_t begin = vertex.current, end = net_.end(v);
    int32_t e = begin;
    for (; e < end; ++e) {
      const int32_t u = net_[e].head;
      if (vertex_[u].distance != vertex.distance - 1 || residual<sign>(e) == 0) continue;
      const int64_t amount = std::min(left, residual<sign>(e)), before = excess<sign>(u);
      net_.push(sign > 0 ? e : net_[e].reverse, amount);
      net_.terminal(u) += sign * amount;
      if (before <= 0 && before + amount > 0) activate(u);
      left -= amount;
      if (left == 0) break;
    }
    net_.terminal(v) = sign * left;
    vertex.current = e;
    work_left_ -= e - begin + 1;
    return left == 0;
  }

  // Relabels v to one above its nearest neighbour. Returns false if no demand is reachable: v has no residual
  // arc, or there is a gap.
  template <int sign> bool relabel(int32_t v) {
    Vertex& vertex = vertex_[v];
    int32_t nearest = net_.n();
    for (int32_t e = net_.begin(v); e < net_.end(v); ++e) {
      const int32_t at = vertex_[net_[e].head].distance;
      if (at >= 0 && at < nearest && residual<sign>(e) > 0) nearest = at, vertex.current = e;
    }
    work_left_ -= net_.work(v);
    if (nearest == net_.n() || count_[vertex.distance] == 1) return false;
    --count_[vertex.distance];
    vertex.distance = nearest + 1;
    if (vertex.distance >= std::ssize(count_)) {
      count_.resize(vertex.distance + 1);
      first_.resize(vertex.distance + 1, kNone);
    }
    ++count_[vertex.distance];
    highest_ = std::max(highest_, vertex.distance);
    return true;
  }

  // Leaves v with its excess, as it reaches no demand. If it was the last one at its distance, all those
  // farther away reach none either; none of them has excess, because v was the farthest one that had.
  void set_aside(int32_t v, int32_t first, int32_t last) {
    const int32_t at = vertex_[v].distance;
    vertex_[v].distance = kUnreachable;
    const auto farther = count_.begin() + at + 1;
    if (--count_[at] > 0 || std::all_of(farther, count_.end(), [](int32_t n) { return n == 0; })) return;
    for (int32_t u = first; u < last; ++u)
      if (vertex_[u].distance > at) vertex_[u].distance = kUnreachable;
    std::fill(farther, count_.end(), 0);
    work_left_ -= last - first;
  }

  struct Vertex {
    int32_t distance;  // lower bound of the number of arcs to the nearest demand, or kUnreachable
    int32_t current;  // no arc before this one leads nearer
    int32_t next;  // next entry in the list of vertices with excess
  };

  FlowNetwork& net_;
  int64_t& work_left_;
  const Control& control_;
  int32_t highest_ = 0;
  std::vector<Vertex> vertex_;
  std::vector<int32_t> first_;  // by distance, the first vertex with excess
  std::vector<int32_t> count_;  // by distance, the number of vertices
  std::vector<int32_t> queue_;
};

}  // namespace hopbytes
