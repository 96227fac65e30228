// Whether a cut is minimum, asked from the cut itself outwards.
//
// When all arcs of a cut are full, what went over it is left as excess on the far side, and is missing on the near
// side. The cut is minimum if and only if each side can settle that alone: excess finds demands, what is missing is
// found at supplies. Both are half as deep as the way from supplies to demands, and where the cut is a narrow place
// nearly all goes straight away from it: by push-relabel, from the far vertices on, with exact distances at the
// beginning (Goldberg, Tarjan 1988; Cherkassky, Goldberg 1997). A side that cannot is left as it is found out
// to be so; what was moved till then was moved rightly (a pseudoflow: Hochbaum 2008).
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "control.hpp"
#include "flow_network.hpp"

namespace hopbytes {

class SeamFlow {
 public:
  SeamFlow(FlowNetwork& net, int64_t& work_left, const Control& control)
      : net_(net), work_left_(work_left), control_(control) {}

  // Bring supplies of the vertices from first to before last to the demands among them (or, backward, demands to
  // supplies) and change the terminals by it. No arc may have room out of this range. Returns whether all could be
  // brought; when in doubt, as the work is used up or time is short, false.
  bool settle(int32_t first, int32_t last, bool backward) {
    return backward ? settle<-1>(first, last) : settle<1>(first, last);
  }

 private:
  static constexpr int32_t kNone = -1;

  template <int sign> int64_t excess(int32_t v) { return sign * net_.terminal(v); }
  template <int sign> int64_t room(int32_t e) const { return sign > 0 ? net_[e].room : net_.back(e); }

  template <int sign> bool settle(int32_t first, int32_t last) {
    find_distances<sign>(first, last);
    first_.assign(count_.size(), kNone);
    highest_ = 0;
    for (int32_t v = first; v < last; ++v)
      if (excess<sign>(v) > 0) {
        if (vertex_[v].distance == kNone) return false;
        wait(v);
      }
    for (; highest_ >= 0; --highest_)
      while (first_[highest_] != kNone) {
        const int32_t v = first_[highest_];
        first_[highest_] = vertex_[v].next;
        while (!discharge<sign>(v))
          if (work_left_ < 0 || control_.hurry() || !raise<sign>(v)) return false;
      }
    return true;
  }

  // To the nearest demand.
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
        if (Vertex& other = vertex_[net_[e].head]; other.distance == kNone && room<-sign>(e) > 0) {
          other.distance = distance + 1;
          queue_[queued++] = net_[e].head;
        }
      work_left_ -= net_.work(v);
    }
  }

  void wait(int32_t v) {
    const int32_t at = vertex_[v].distance;
    vertex_[v].next = first_[at];
    first_[at] = v;
    highest_ = std::max(highest_, at);
  }

  // Along arcs that lead nearer; whether nothing is left at v.
  template <int sign> bool discharge(int32_t v) {
    Vertex& vertex = vertex_[v];
    int64_t left = excess<sign>(v);
    const int32_t begin = vertex.current, end = net_.end(v);
    int32_t e = begin;
    for (; e < end; ++e) {
      const int32_t u = net_[e].head;
      if (vertex_[u].distance != vertex.distance - 1 || room<sign>(e) == 0) continue;
      const int64_t amount = std::min(left, room<sign>(e)), before = excess<sign>(u);
      net_.push(sign > 0 ? e : net_[e].reverse, amount);
      net_.terminal(u) += sign * amount;
      if (before <= 0 && before + amount > 0) wait(u);
      left -= amount;
      if (left == 0) break;
    }
    net_.terminal(v) = sign * left;
    vertex.current = e;
    work_left_ -= e - begin + 1;
    return left == 0;
  }

  // To where v has a nearer neighbour again; false if there is no way to a demand: none at all, or over a
  // distance at which no vertex is left.
  template <int sign> bool raise(int32_t v) {
    Vertex& vertex = vertex_[v];
    int32_t nearest = net_.n();
    for (int32_t e = net_.begin(v); e < net_.end(v); ++e) {
      const int32_t at = vertex_[net_[e].head].distance;
      if (at != kNone && at < nearest && room<sign>(e) > 0) nearest = at, vertex.current = e;
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
    int32_t distance;  // at least so many arcs to the nearest demand; kNone where there is no way
    int32_t current;   // arcs before this one do not lead nearer
    int32_t next;      // in the list of those that wait
  };

  FlowNetwork& net_;
  int64_t& work_left_;
  const Control& control_;
  int32_t highest_ = 0;
  std::vector<Vertex> vertex_;
  std::vector<int32_t> first_;  // by distance, of the vertices that wait
  std::vector<int32_t> count_;  // by distance, vertices
  std::vector<int32_t> queue_;
};

}  // namespace hopbytes
