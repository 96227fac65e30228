// Verifies whether a cut is a minimum cut, starting from the cut itself.
//
// If all arcs of a cut are saturated, the flow across it leaves excess on the far side and a deficit on the
// near side. The cut is minimum if and only if each side can route this on its own: excess to demands,
// deficits to supplies. Each of these two flow problems is about half as deep as the whole one, and where the
// cut is narrow nearly all flow leaves it directly. Push-relabel solves them, highest label first, with exact
// initial distances (Goldberg, Tarjan 1988; Cherkassky, Goldberg 1997). A side that cannot route everything
// keeps the flow pushed so far, which is a valid pseudoflow (Hochbaum 2008) to continue from.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/control.hpp"
#include "partition/refinement/flow_network.hpp"

namespace hopbytes {

class MinimumCutCertificate {
 public:
  MinimumCutCertificate(FlowNetwork& net, int64_t& work_left, const Control& control)
      : net_(net), work_left_(work_left), control_(control) {}

  // Routes the supplies of the vertices first .. last-1 to the demands among them (or, backward, demands to
  // supplies) and updates the terminals. No arc out of this range may have residual capacity. Returns whether
  // everything was routed; false as well if the work is used up or the time is over.
  bool route_excess(int32_t first, int32_t last, bool backward) {
    return backward ? route_excess<-1>(first, last) : route_excess<1>(first, last);
  }

 private:
  static constexpr int32_t kNone = -1;

  template <int sign> int64_t excess(int32_t v) { return sign * net_.terminal(v); }
  template <int sign> int64_t residual(int32_t e) const { return sign > 0 ? net_[e].residual : net_.back(e); }

  template <int sign> bool route_excess(int32_t first, int32_t last) {
    find_distances<sign>(first, last);
    first_.assign(count_.size(), kNone);
    highest_ = 0;
    for (int32_t v = first; v < last; ++v)
      if (excess<sign>(v) > 0) {
        if (vertex_[v].distance == kNone) return false;
        activate(v);
      }
    for (; highest_ >= 0; --highest_)
      while (first_[highest_] != kNone) {
        const int32_t v = first_[highest_];
        first_[highest_] = vertex_[v].next;
        while (!discharge<sign>(v))
          if (work_left_ < 0 || control_.should_stop() || !relabel<sign>(v)) return false;
      }
    return true;
  }

  // Computes exact distances to the nearest demand.
  template <int sign> void find_distances(int32_t first, int32_t last) {
    vertex_.resize(net_.n());
    queue_.resize(last - first);
    int32_t queued = 0;
    for (int32_t v = first; v < last; ++v) {
      const bool target = excess<sign>(v) < 0;
      vertex_[v] = {target ? 0 : kNone, net_.begin(v), kNone};
      if (target) queue_[queued++] = v;
    }
    count_.assign(1, 0);
    for (int32_t q = 0; q < queued; ++q) {
      const int32_t v = queue_[q], distance = vertex_[v].distance;
      count_.resize(distance + 1);
      ++count_[distance];
      for (int32_t e = net_.begin(v); e < net_.end(v); ++e)
        if (Vertex& other = vertex_[net_[e].head]; other.distance == kNone && residual<-sign>(e) > 0) {
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
  // arc, or there is a gap, a distance at which no vertex is left.
  template <int sign> bool relabel(int32_t v) {
    Vertex& vertex = vertex_[v];
    int32_t nearest = net_.n();
    for (int32_t e = net_.begin(v); e < net_.end(v); ++e) {
      const int32_t at = vertex_[net_[e].head].distance;
      if (at != kNone && at < nearest && residual<sign>(e) > 0) nearest = at, vertex.current = e;
    }
    work_left_ -= net_.work(v);
    if (nearest == net_.n() || --count_[vertex.distance] == 0) return false;
    vertex.distance = nearest + 1;
    if (vertex.distance >= static_cast<int32_t>(count_.size())) {
      count_.resize(vertex.distance + 1);
      first_.resize(vertex.distance + 1, kNone);
    }
    ++count_[vertex.distance];
    highest_ = std::max(highest_, vertex.distance);
    return true;
  }

  struct Vertex {
    int32_t distance;  // lower bound of the number of arcs to the nearest demand; kNone if there is no path
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
